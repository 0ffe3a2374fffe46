package au

import (
	"bytes"
	"fmt"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// Room is how many bytes are free at the front of a packed unit: what FLV has before
// the media takes their place.
const Room = 8

// A Joiner converts access units into frames. The zero value is ready for use.
type Joiner struct {
	video, audio *Config
}

// Header returns the sequence header for c as a frame, whose payload is transferred,
// and reports false when the latest header said the same or the codec has none.
func (j *Joiner) Header(c *Config, at uint32) (live.Frame, bool) {
	latest, typ := &j.audio, flv.TagAudio
	if isVideo(c.Codec) {
		latest, typ = &j.video, flv.TagVideo
	}
	before := *latest
	*latest = c
	if len(c.Record) == 0 || before != nil && before.Codec == c.Codec && bytes.Equal(before.Record, c.Record) {
		return live.Frame{}, false
	}
	var p []byte
	if typ == flv.TagVideo {
		p = flv.VideoHeader{Frame: flv.FrameKey, Codec: c.Codec, Packet: flv.PacketSequenceStart, Enhanced: c.Codec != flv.CodecAVC}.Append(p)
	} else {
		p = audioHeader(c, flv.AudioSequenceStart).Append(p)
	}
	return live.Frame{Type: typ, Time: at, Payload: mem.Wrap(append(p, c.Record...), nil)}, true
}

func isVideo(c flv.FourCC) bool {
	switch c {
	case flv.CodecAVC, flv.CodecHEVC, flv.CodecAV1, flv.CodecVP9, flv.CodecVP8:
		return true
	}
	return false
}

// audioHeader is what a tag of sound begins with. The rate that is there for AAC is
// fixed (section E.4.2.1), and decoders do not use it for the other codecs of the list.
func audioHeader(c *Config, packet flv.AudioPacketType) flv.AudioHeader {
	h := flv.AudioHeader{Codec: c.Codec, Packet: packet, Bits16: true, Stereo: c.Channels > 1}
	switch c.Codec {
	case flv.CodecAAC:
		h.Rate, h.Stereo = flv.SoundRate44k, true
	case flv.CodecMP3:
		for _, r := range []struct {
			rate flv.SoundRate
			hz   int
		}{{flv.SoundRate44k, 40000}, {flv.SoundRate22k, 20000}, {flv.SoundRate11k, 10000}} {
			if c.Rate >= r.hz {
				h.Rate = r.rate
				break
			}
		}
	}
	return h
}

// Frame converts a packed unit into a frame. packed is transferred, also on an error:
// Room bytes that are overwritten, then for H.264 and HEVC each NAL unit behind its
// length of 4 bytes, for AV1 OBUs with their sizes, for others the frame as it is.
// u.Parts is not looked at.
func (j *Joiner) Frame(u *Unit, packed mem.Buf) (live.Frame, error) {
	var head [Room]byte
	var p []byte
	typ := flv.TagAudio
	switch {
	case u.Video:
		typ = flv.TagVideo
		h := flv.VideoHeader{Frame: flv.FrameInter, Codec: u.Codec, Packet: flv.PacketCodedFrames, CompositionTime: u.Offset, Enhanced: u.Codec != flv.CodecAVC}
		if u.Key {
			h.Frame = flv.FrameKey
		}
		if h.Enhanced && u.Offset == 0 && u.Codec == flv.CodecHEVC {
			h.Packet = flv.PacketCodedFramesX
		}
		if u.Offset < -1<<23 || u.Offset >= 1<<23 {
			packed.Release()
			return live.Frame{}, fmt.Errorf("%w: a picture that is shown %d ms after it is decoded", ErrSyntax, u.Offset)
		}
		p = h.Append(head[:0])
	case u.Config == nil:
		packed.Release()
		return live.Frame{}, fmt.Errorf("%w: sound without a configuration", ErrCodec)
	default:
		p = audioHeader(u.Config, flv.AudioCodedFrames).Append(head[:0])
	}
	from := Room - len(p)
	copy(packed.Bytes()[from:], p)
	f := live.Frame{Type: typ, Time: u.Time, Payload: packed.RetainedSlice(from, packed.Len())}
	packed.Release()
	return f, nil
}
