package hls

import "github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"

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
