package hls

import (
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg4audio"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// silentOpus are 20 ms of CELT with its flag of silence (RFC 6716, sections 3.1 and 4.3), by channels.
var silentOpus = [][]byte{1: {0xf8, 0xff, 0xfe}, 2: {0xfc, 0xff, 0xfe}}

// silence returns a frame without sound, nil for a configuration for which none is known: these have no
// form either.
func silence(c *au.Config) []byte {
	switch c.Codec {
	case flv.CodecAAC:
		var a mpeg4audio.AudioSpecificConfig
		if a.Unmarshal(c.Record) == nil && int(a.ChannelConfig) < len(elements) {
			return silentAAC(elements[a.ChannelConfig])
		}
	case flv.CodecOpus:
		if channels := max(c.Channels, 1); channels < len(silentOpus) { // as in sampleEntry
			return silentOpus[channels]
		}
	}
	return nil
}

// Elements of a frame of AAC (ISO/IEC 14496-3, table 4.85).
const (
	single = 0 // a channel
	pair   = 1 // two
	low    = 3 // one of low frequencies
	end    = 7 // of the frame
)

// elements are those of a frame, by the configuration of channels (table 1.19).
var elements = [][]int{1: {single}, 2: {pair}, 3: {single, pair}, 4: {single, pair, single}, 5: {single, pair, pair}, 6: {single, pair, pair, low}, 7: {single, pair, pair, pair, low}}

// silentAAC returns a frame of elements of which no band is coded, nil for none. What HE-AAC has beside
// them may be missing (section 4.5.2.8.2.1).
func silentAAC(elements []int) []byte {
	if len(elements) == 0 {
		return nil
	}
	var p []byte
	n := 0
	write := func(value, bits int) {
		for bits--; bits >= 0; bits-- {
			if n%8 == 0 {
				p = append(p, 0)
			}
			p[n/8] |= byte(value>>bits&1) << (7 - n%8)
			n++
		}
	}
	var numbers [end]int
	for _, kind := range elements {
		const channel = 22 // gain, window, no band, none of the tools (table 4.50)
		write(kind, 3)
		write(numbers[kind], 4)
		numbers[kind]++
		write(0, channel)
		if kind == pair {
			write(0, 1+channel) // no common window
		}
	}
	write(end, 3)
	return p
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
	one := au.Unit{Codec: t.config.Codec, Config: t.config, Parts: [][]byte{silence(t.config)}}
	at := s.extend(t, u.Time)
	next := at
	if t.begun {
		next = t.next * 1000 / t.scale
	}
	if at < next-quiet || at > next+quiet {
		return true // of another clock, or after a pause
	}
	t.latest, t.heard = at, true
	for next <= at {
		before := t.next
		if !s.putAudio(t, &one, next) {
			return false
		}
		if t.next == before {
			break // it is before the first picture
		}
		next = t.next * 1000 / t.scale
	}
	return true
}

// lull is for how long, in ms, sound may stay away until silence is in its place.
const lull = 2_000

// A place is where sound is beside the pictures, in ms of the stream.
type place struct {
	at     int64      // it has come up to there, or silence is up to there
	lag    int64      // how far it was behind pictures at the most
	lead   int64      // how far it was ahead of the latest picture
	filled bool       // up to at there is silence, because nothing came
	renew  *au.Config // of sound that has come or has other parameters, and waits for a key frame; nil: none
	waits  moment     // while no segment is open: since then no picture has come beside it
}

// came takes the time of a frame of sound that comes with the newest of pictures, and reports whether
// silence is in its place.
func (p *place) came(at int64, pictures, sound *track) bool {
	if pictures != nil && pictures.heard {
		p.lag = max(p.lag, pictures.latest-at)
	}
	if slack := sound.scale/1000 + 1; p.filled && at*sound.scale/1000 < sound.next-slack {
		return true
	}
	p.at, p.filled = at, false
	return false
}

// beside takes the time of a picture that comes with the newest of sound.
func (p *place) beside(at int64, sound *track) {
	p.lead = 0
	if sound != nil && sound.begun {
		p.lead = max(0, sound.latest-at)
	}
}

// fill puts silence where sound has stayed away, up to where it would be beside a picture of this
// time. It returns false when there is no memory for it.
func (s *segmenter) fill(at int64) bool {
	t, p := s.tracks[1], &s.sound
	at -= p.lag
	if t == nil || !p.filled && at-p.at <= lull {
		return true
	}
	one := au.Unit{Codec: t.config.Codec, Config: t.config, Parts: [][]byte{silence(t.config)}}
	next := p.at
	if t.begun {
		next = t.next * 1000 / t.scale
	}
	for ; next <= at; next = t.next * 1000 / t.scale {
		t.sound(&one, next)
	}
	t.latest, t.heard = next, true
	p.at, p.filled = next, true
	return s.unsent() <= s.line.bound()
}
