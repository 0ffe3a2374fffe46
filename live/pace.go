package live

import "time"

// pace finds out when a publisher is faster than real time.
type pace struct {
	begun   bool
	first   uint32 // time of the first frame of media
	from    int64  // when it came, on the stream's clock
	latest  uint32 // time of the latest one
	safe    int64  // place in bodies up to which no viewer is too far behind
	safeSeq uint64 // number of the frame up to which that is so
}

// longestStep is the longest time from one frame to the next, in ms: beyond it the
// publisher's clock was set.
const longestStep = 60_000

// tooFast reports whether the publisher of a frame of media with time at, which comes at
// clock, is so far ahead that viewers count.
func (p *pace) tooFast(at uint32, clock int64, most time.Duration) bool {
	ahead, step := p.ahead(at, clock), int32(at-p.latest)
	p.latest = at
	if !p.begun || ahead < -most || ahead > time.Hour || step > longestStep {
		// The first frame, a publisher who had paused, one that began a file again, or
		// whose clock was set.
		p.begun, p.first, p.from = true, at, clock
		return false
	}
	return ahead > most
}

// ahead is how far a frame with time at is ahead of real time.
func (p *pace) ahead(at uint32, clock int64) time.Duration {
	return time.Duration(int32(at-p.first))*time.Millisecond - time.Duration(clock-p.from)
}
