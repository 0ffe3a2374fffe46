package session

import (
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// pictures are those of a publisher by RTMP or FLV up to the first that a player can decode.
type pictures struct {
	known  bool       // they are passed on: their sequence header has come, or they need none
	header bool       // it has come behind some of them: the next key frame is passed on
	said   bool       // the log has a line of them
	inBand *au.InBand // nil: no key frame was left out since
}

// What pictures wait for, as another process is to know it: nothing, when it is one from before that does not say it.
const (
	forNothing  = ""
	forPictures = "pictures" // none has come
	forHeader   = "header"
	forKey      = "key frame"
)

// wait says what they wait for.
func (p *pictures) wait() string {
	switch {
	case p.known:
		return forNothing
	case p.header:
		return forKey
	case p.inBand != nil:
		return forHeader
	}
	return forPictures
}

// awaiting are the pictures of another process, which wait for that.
func awaiting(what string) pictures {
	switch what {
	case forPictures:
		return pictures{}
	case forHeader:
		return pictures{said: true, inBand: new(au.InBand)}
	case forKey:
		return pictures{said: true, header: true}
	}
	return pictures{known: true}
}

// Came counts a frame that a publisher sends by RTMP or as FLV, borrowed until it returns, and reports whether it is to be
// published, and a header before it, if that is there. Pictures before their sequence header are not, up to the key frame
// behind it, which the log says once: ffmpeg, mpv and VLC, and what is built on them, take the track for broken, and show
// nothing of it when the header has come. The parameter sets of a key frame, if it has them, make the header.
func (s *Client) Came(f *live.Frame) (header live.Frame, ok bool) {
	s.Count(flv.TagHeaderLen + f.Payload.Len() + flv.PrevTagSizeLen)
	p := &s.pictures
	if p.known || f.Type != flv.TagVideo {
		return header, true
	}
	h, err := flv.ParseVideo(f.Payload.Bytes())
	if err != nil {
		return header, true
	}
	body := h.Body(f.Payload.Bytes())
	switch {
	case h.Frame == flv.FrameCommand || h.Metadata() || h.Packet == flv.PacketSequenceEnd || len(body) == 0:
		return header, true
	case h.Codec != flv.CodecAVC && h.Codec != flv.CodecHEVC || h.Tracks != flv.TrackOnly:
		p.known = true
	case h.Config():
		p.known = !p.header && p.inBand == nil
		p.header, p.inBand = true, nil
		return header, true
	case h.Key():
		if p.known = p.header; p.known {
			break
		}
		if made := p.learn(&h, body); made != nil {
			p.known = true
			header = live.Frame{Type: flv.TagVideo, Time: f.Time, Payload: mem.Wrap(made, nil)}
		} else if !p.said {
			p.said = true
			s.books.log.Warn("pictures before their sequence header are left out",
				"id", s.ID, "stream", s.Stream, "protocol", s.Protocol, "address", s.Address, "codec", h.Codec)
		}
	}
	if p.known {
		p.inBand = nil
	}
	return header, p.known
}

// learn returns the sequence header that the parameter sets of a key frame make, in the form of its header; nil when there
// are not enough.
func (p *pictures) learn(h *flv.VideoHeader, body []byte) []byte {
	if p.inBand == nil || p.inBand.Codec != h.Codec {
		p.inBand = &au.InBand{Codec: h.Codec}
	}
	units, err := au.SplitLengths(nil, body)
	if err != nil {
		return nil
	}
	p.inBand.Learn(units)
	c := p.inBand.Config()
	if c == nil {
		return nil
	}
	return append(flv.VideoHeader{Frame: flv.FrameKey, Codec: h.Codec, Packet: flv.PacketSequenceStart, Enhanced: h.Enhanced}.Append(nil), c.Record...)
}
