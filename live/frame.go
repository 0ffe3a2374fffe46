package live

import (
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
)

// A Frame is what is published: the body of an FLV tag, which is the body of an
// RTMP audio, video or data message as well.
type Frame struct {
	Type    flv.TagType
	Time    uint32  // milliseconds, of the publisher's clock
	Payload mem.Buf // retained by the holder of the frame; without bytes a Buf of none, and not the zero Buf
	Key     bool    // with StreamOptions.Packets only: a decoder can start here
	Mark    Mark    // with StreamOptions.Marks only: where the frame has come from another server
}

// kind is what a stream has to know about a frame.
type kind uint8

const (
	isVideo  kind = 1 << iota
	isAudio       // neither of the two: script data
	isKey         // a decoder can start here
	isConfig      // a sequence header: not media, but needed before it
	isMeta        // script data that describes the stream: onMetaData
	isDetail      // a packet that describes the pictures or the loudspeakers: enhanced RTMP's metadata packet and multichannel configuration
	isSide        // of another track than the stream's main one
)

// media reports whether the frame has a place in time.
func (k kind) media() bool { return k&(isVideo|isAudio) != 0 && k&(isConfig|isDetail) == 0 }

// data reports whether the frame is of neither media nor what describes them.
func (k kind) data() bool { return k&(isVideo|isAudio|isMeta) == 0 }

// picture reports whether the frame is one of video that is shown.
func (k kind) picture() bool { return k&isVideo != 0 && k.media() }

// A track says whose a frame is among several of its kind (enhanced RTMP v2,
// multitrack): the number of the track, or of the first in a packet of many.
type track uint16

const manyTracks track = 1 << 8 // the packet has several, of which this is the first

func trackOf(x *flv.Extension) track {
	if x.Tracks > flv.TrackOne {
		return manyTracks | track(x.Track)
	}
	return track(x.Track)
}

// classify looks at a frame's first bytes. What cannot be understood is passed
// on like any other frame and is no place to start at.
func classify(typ flv.TagType, p []byte) (kind, track) {
	switch typ {
	case flv.TagVideo:
		k := isVideo
		h, err := flv.ParseVideo(p)
		if err != nil {
			return k, 0
		}
		switch {
		case h.Config():
			k |= isConfig
		case h.Metadata():
			k |= isDetail
		case h.Key() && len(h.Body(p)) > 0: // an empty one has no picture
			k |= isKey
		}
		return k, trackOf(&h.Extension)
	case flv.TagAudio:
		k := isAudio
		h, err := flv.ParseAudio(p)
		if err != nil {
			return k, 0
		}
		switch {
		case h.Config():
			k |= isConfig
		case h.Enhanced && h.Packet == flv.AudioMultichannelConfig:
			k |= isDetail
		}
		return k, trackOf(&h.Extension)
	}
	if metadata(p) {
		return isMeta, 0
	}
	return 0, 0
}

// metadata reports whether script data is onMetaData, without parsing the
// values: a string marker, its length, the name.
func metadata(p []byte) bool {
	const name = "\x02\x00\x0aonMetaData"
	return len(p) >= len(name) && string(p[:len(name)]) == name
}
