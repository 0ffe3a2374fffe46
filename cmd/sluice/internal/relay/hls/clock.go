package hls

import (
	"math"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
)

// jump is a step of the clock, in ms, that is no pause but another clock; back is one to
// the past.
const jump, back = 10_000, 1_000

// stillTime is for how long, in ms, a stream may send units without that its clock goes on, and
// stillUnits how many of them.
const stillTime, stillUnits = 5_000, 20

// A moment is a time of the stream, without wrapping.
type moment struct {
	at    int64
	known bool
}

// A clock is that of a stream.
type clock struct {
	moment           // of the latest unit of any track
	took   time.Time // when it was taken
	onward progress
	timing au.Timing // of pictures
	moved  uint32    // by how much times are later than the stream's
}

// still reports that units come, and none is later than those before: no segment of them
// has an end.
func (s *segmenter) still() bool {
	return s.clock.onward.units > stillUnits && s.clock.onward.since > stillTime*time.Millisecond
}

// step is the least, in ms, by which all tracks go forward at once where hls.js does not go on: it
// waits for what would be in between, which no segment has. It does where the stream was away for as
// long, and has nothing to wait for in pictures alone.
const step = 2_000

// stepped reports whether the clock goes forward so far with a unit of this time, for which no time has
// passed.
func (s *segmenter) stepped(at int64) bool {
	gap := at - s.clock.onward.latest
	for _, t := range s.tracks {
		if t == nil || !t.heard {
			return false
		}
	}
	return s.clock.onward.begun && gap > step && s.read().Sub(s.clock.took).Milliseconds() < gap/2
}

// aside returns by how much the time of a unit is moved. Where the clock of pictures alone jumps between two
// key frames they go on: those up to the next one could not be decoded behind a discontinuity.
func (s *segmenter) aside(u *au.Unit) uint32 {
	if t := s.tracks[0]; s.tracks[1] == nil && s.began && u.Video && !u.Key && t.heard {
		if at := s.extend(t, u.Time+s.clock.moved); at < t.latest-back || at > t.latest+jump {
			s.clock.moved += uint32(t.latest + max(t.frame, 1) - at)
		}
	}
	return s.clock.moved
}

// progress is that of a clock.
type progress struct {
	begun  bool
	latest int64         // the furthest time
	came   time.Time     // when its unit came
	units  int           // since then
	since  time.Duration // from then to the latest of them
}

// take takes the time of a unit that comes now.
func (p *progress) take(at int64, now func() time.Time) {
	if !p.begun || at > p.latest {
		*p = progress{begun: true, latest: at, came: now()}
		return
	}
	if p.units++; p.units > stillUnits {
		p.since = now().Sub(p.came)
	}
}

// farthest is how far the clock goes, in ms: two years, of which there are less than 2^63 ticks at any rate
// of sound, of 24 bits. Only times that jump, or frames that come faster than they say, come so far.
const farthest = 1 << 36

// near has the clock begin again where a time is beyond that, and returns what the time is then, and ok, or false
// when there is no memory to end the segment.
func (s *segmenter) near(at int64, ok bool) (int64, bool) {
	if at <= farthest {
		return at, ok
	}
	ok = s.restart(false, at) && ok
	for _, t := range s.tracks {
		if t != nil {
			t.reset()
		}
	}
	s.clock.moment, s.clock.onward, s.sound.waits = moment{}, progress{}, moment{}
	return at & math.MaxUint32, ok
}

// extend returns a time of the stream, 32 bits of ms, without wrapping: the same for all
// tracks, also when one of them was not heard since a discontinuity.
func (s *segmenter) extend(t *track, at uint32) int64 {
	latest := s.clock.at
	switch {
	case t.heard:
		latest = t.latest
	case !s.clock.known:
		return int64(at)
	}
	extended := latest + int64(int32(at-uint32(latest)))
	if extended < -back {
		extended += 1 << 32 // another clock, which has not begun there
	}
	return extended
}
