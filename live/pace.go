package live

import "time"

// pace finds out when a publisher is faster than real time.
type pace struct {
	begun  bool
	first  uint32 // time of the first frame of media
	from   int64  // when it came, on the stream's clock
	latest uint32 // time of the latest one

	looked  int64         // when lead was taken
	lead    time.Duration // how far it was ahead then
	held    bool          // it has had to wait since
	safe    int64         // place in bodies up to which no viewer is too far behind
	safeSeq uint64        // number of the frame up to which that is so
}

// longestStep is the longest time from one frame to the next, in ms: beyond it the
// publisher's clock was set.
const longestStep = 60_000

// steadyTime is for how long a publisher that is ahead must not get further ahead, without
// having to wait, to be in real time: it began with what was there already, as one does that
// pulls a stream.
const steadyTime = 2 * time.Second

// tooFast reports whether the publisher of a frame of media with time at, which comes at
// clock, is so far ahead that viewers count.
func (p *pace) tooFast(at uint32, clock int64, most time.Duration) bool {
	ahead, step := p.ahead(at, clock), int32(at-p.latest)
	p.latest = at
	if !p.begun || ahead < -most || ahead > time.Hour || step > longestStep {
		// The first frame, a publisher who had paused, one that began a file again, or
		// whose clock was set.
		p.begin(at, clock)
		return false
	}
	if clock-p.looked >= int64(steadyTime) {
		if ahead > most && ahead <= p.lead && !p.held {
			p.begin(at, clock)
			return false
		}
		p.looked, p.lead, p.held = clock, ahead, false
	}
	return ahead > most
}

// begin says that a frame with time at is in real time.
func (p *pace) begin(at uint32, clock int64) {
	p.begun, p.first, p.from = true, at, clock
	p.looked, p.lead, p.held = clock, 0, false
}

// ahead is how far a frame with time at is ahead of real time.
func (p *pace) ahead(at uint32, clock int64) time.Duration {
	return time.Duration(int32(at-p.first))*time.Millisecond - time.Duration(clock-p.from)
}
