package access

import "time"

// banClock keeps bans as long as they were meant to hold when the clock of the machine
// is set, as by NTP after a start with a wrong one: what holds is the time that passes.
type banClock struct {
	wall    func() time.Time
	elapsed func() time.Duration
	zero    time.Time // on the wall, when elapsed was 0
	set     bool      // the clock was set since bans were saved
}

// clockStep is what makes a difference of the two clocks a clock that was set. A smaller
// one is left alone, so that times that are shown do not change without a reason.
const clockStep = time.Second

func newBanClock(o Options) banClock {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Elapsed == nil {
		began := o.Now()
		o.Elapsed = func() time.Duration { return o.Now().Sub(began) } // monotonic, if Now is
	}
	c := banClock{wall: o.Now, elapsed: o.Elapsed}
	c.zero = c.wall().Round(0).Add(-c.elapsed())
	return c
}

// step returns the time on the wall, and by how much the clock was set since the last call.
func (c *banClock) step() (now time.Time, by time.Duration) {
	now = c.wall().UTC().Round(0) // as it is after a restart: without the monotonic clock
	by = now.Add(-c.elapsed()).Sub(c.zero)
	if by.Abs() < clockStep {
		return now, 0
	}
	c.zero, c.set = c.zero.Add(by), true
	return now, by
}
