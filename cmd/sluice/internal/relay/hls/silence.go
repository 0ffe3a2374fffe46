package hls

import (
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// Frames without sound. Those of AAC are elements of which no band is coded, the element that
// ends the frame, and what fills its last byte (ISO/IEC 14496-3, section 4.4.2). Those of Opus
// are 20 ms of CELT with its flag of silence (RFC 6716, sections 3.1 and 4.3).
var (
	silentAAC  = [][]byte{{0, 0, 0, 0x07}, {0x20, 0, 0, 0, 0, 0, 0x0e}}
	silentOpus = [][]byte{{0xf8, 0xff, 0xfe}, {0xfc, 0xff, 0xfe}}
)

// silence returns a frame without sound, nil for a configuration for which none is known.
func silence(c *au.Config) []byte {
	if c.Channels < 1 || c.Channels > 2 {
		return nil
	}
	switch c.Codec {
	case flv.CodecAAC:
		const lowComplexity = 2
		if r := c.Record; len(r) >= 2 && r[0]>>3 == lowComplexity && int(r[1]>>3&15) == c.Channels && r[1]&4 == 0 {
			return silentAAC[c.Channels-1]
		}
	case flv.CodecOpus:
		return silentOpus[c.Channels-1]
	}
	return nil
}

// muted takes sound, borrowed, for which the open segment has no form: silence is in its place, up
// to the next key frame where it has one then, else as long as it comes. Browsers play pictures as far
// as each track of a segment goes (Media Source Extensions, section 5.3, "buffered"), stand still at the
// end of one, and take no other tracks than those that they began with. It returns false when there is
// no memory for it.
func (s *segmenter) muted(u *au.Unit) bool {
	t := s.tracks[1]
	if t == nil || s.tracks[0] == nil || !s.began {
		return true
	}
	frame := silence(t.config)
	if frame == nil {
		return true
	}
	one := au.Unit{Codec: t.config.Codec, Config: t.config, Parts: [][]byte{frame}}
	at := s.extend(t, u.Time)
	next := at
	if t.begun {
		next = t.next * 1000 / t.scale
	}
	if at < next-quiet || at > next+quiet {
		return true // of another clock, or after a pause
	}
	t.latest, t.heard = at, true
	ok := true
	for ; ok && next <= at; next = t.next * 1000 / t.scale {
		if ok = s.putAudio(t, &one, next); !t.begun {
			break // before the first picture
		}
	}
	return ok
}
