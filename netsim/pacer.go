package netsim

import (
	"math"
	"time"
)

// A pacer calculates when a line of a given bandwidth will have sent what it was
// given. It never waits itself.
type pacer struct {
	rate int64     // bytes per second, 0 for no limit
	free time.Time // when the line has sent everything
	rest int64     // what is left of the last division, in bytes times 1e9: rounding must not add up
}

const (
	portion = 10 * time.Millisecond
	// Both bounds keep the products below inside an int64. The second is no
	// limit that a clock could measure.
	mostBytes = 1 << 20
	mostRate  = 1e15
)

func newPacer(rate int64) pacer { return pacer{rate: min(rate, mostRate)} }

// most is the largest number of bytes that may be given to the line at once.
func (p *pacer) most() int {
	if p.rate == 0 {
		return math.MaxInt
	}
	return int(min(max(p.rate/int64(time.Second/portion), 1), mostBytes))
}

// start is when the line can begin with what is given to it now.
func (p *pacer) start(now time.Time) time.Time {
	if p.rate == 0 || now.After(p.free) {
		return now
	}
	return p.free
}

// send gives the line n bytes, most at most, to begin with at start, and
// returns when it has sent them.
func (p *pacer) send(start time.Time, n int) time.Time {
	if p.rate == 0 {
		return start
	}
	if start.After(p.free) {
		p.rest = 0
	}
	p.rest += int64(n) * int64(time.Second)
	p.free = start.Add(time.Duration(p.rest / p.rate))
	p.rest %= p.rate
	return p.free
}
