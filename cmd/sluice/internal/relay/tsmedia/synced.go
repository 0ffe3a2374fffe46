package tsmedia

import (
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/ac3"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// syncedHeader is how many bytes of a frame of MPEG audio or AC-3 say how long it is.
const syncedHeader = 5

// syncedSize returns the length of the frame at the front of p: more than p has when it is cut off, and 0
// when there is none. length is that of a header. Behind a frame comes another one: what looks like a header
// in the rest of a frame is none.
func syncedSize(p []byte, begins func(p []byte) bool, length func(header []byte) int) int {
	if !begins(p) {
		return 0
	}
	if len(p) < syncedHeader {
		return syncedHeader
	}
	n := length(p)
	if n < syncedHeader || len(p) > n && !begins(p[n:]) {
		return 0
	}
	return n
}

// mpeg finds the frames of a track of MPEG audio. Its type is the same for all layers: layer III is MP3,
// the others have no form in FLV.
type mpeg struct {
	cutter
	mp3 bool // there was a frame: what looks like another layer is broken
}

func (m *mpeg) frames(p []byte, yield func(c *au.Config, frame []byte, before bool) error) error {
	return m.cut(p, mpegSize, func(frame []byte, before bool) error {
		switch h, _ := au.ParseMPEGAudio(frame); {
		case h.Layer == 3:
			m.mp3 = true
			return yield(au.SoundConfig(flv.CodecMP3, frame), frame, before)
		case m.mp3:
			return nil
		case h.Layer == 1:
			return leftOut("MPEG audio of layer I")
		}
		return leftOut("MPEG audio of layer II, MP2")
	})
}

// mpegSize is syncedSize of MPEG audio.
func mpegSize(p []byte) int {
	return syncedSize(p, au.BeginsMPEGAudio, func(p []byte) int {
		h, _ := au.ParseMPEGAudio(p)
		return h.Size
	})
}

// dolby finds the frames of a track of AC-3.
type dolby struct{ cutter }

func (d *dolby) frames(p []byte, yield func(c *au.Config, frame []byte, before bool) error) error {
	return d.cut(p, ac3Size, func(frame []byte, before bool) error {
		c := au.SoundConfig(flv.CodecAC3, frame)
		if c == nil {
			return nil
		}
		return yield(c, frame, before)
	})
}

// ac3Size is syncedSize of AC-3.
func ac3Size(p []byte) int {
	begins := func(p []byte) bool { return p[0] == 0x0b && (len(p) < 2 || p[1] == 0x77) }
	return syncedSize(p, begins, func(p []byte) int {
		var s ac3.SyncInfo
		if s.Unmarshal(p) != nil {
			return 0
		}
		return s.FrameSize()
	})
}
