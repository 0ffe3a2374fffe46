package live

import "time"

// pace finds out when a publisher is faster than real time.
type pace struct {
	begun   bool
	first   uint32 // time of the first frame of media
	from    int64  // when it came, on the stream's clock
	safe    int64  // place in bodies up to which no viewer is too far behind
	safeSeq uint64 // number of the frame up to which that is so
	waiting chan struct{}
}

// checkEvery is how often a waiting publisher checks the clock.
const checkEvery = 20 * time.Millisecond

// tooFast reports whether the publisher of the frame with time at is so far
// ahead that viewers count.
func (p *pace) tooFast(s *Stream, at uint32, k kind) bool {
	if !k.media() && !s.options.Raw {
		return s.watched.Load()
	}
	ahead := p.ahead(s, at)
	if !p.begun || ahead < -s.options.Ahead || ahead > time.Hour {
		// The first frame, a publisher who had paused, or one that began a
		// file again.
		p.begun, p.first, p.from = true, at, s.clock()
		return false
	}
	return ahead > s.options.Ahead
}

// ahead is how far a frame with time at is ahead of real time.
func (p *pace) ahead(s *Stream, at uint32) time.Duration {
	return time.Duration(int32(at-p.first))*time.Millisecond - time.Duration(s.clock()-p.from)
}

// watch records whether the publisher is too fast.
func (s *Stream) watch(fast bool) bool {
	if fast != s.watched.Load() {
		s.watched.Store(fast)
		s.pace.safe, s.pace.safeSeq = 0, 0
		for _, g := range s.groups {
			g.least.Store(0) // not known: the loop has to look
			if fast && !g.told {
				g.told = true
				g.loop.tell(g)
			}
		}
	}
	return fast
}

// slow blocks a publisher that is too fast until no viewer is far behind, or until real
// time has nearly caught up. It is called with the lock held, releases it while it
// waits, and reports whether p may go on.
func (s *Stream) slow(p *Publisher, at uint32) bool {
	r := &s.ring
	if r.bodies.end < s.pace.safe && r.next < s.pace.safeSeq {
		return true
	}
	bytes, frames := int64(s.options.GOPBytes/2), uint64(s.options.GOPFrames/2)
	timer := time.NewTimer(checkEvery)
	defer timer.Stop()
	for s.pace.ahead(s, at) > s.options.Ahead {
		behind := s.slowest()
		if at := r.place(behind); r.bodies.end-at < bytes && r.next-behind < frames {
			s.pace.safe, s.pace.safeSeq = at+bytes, behind+frames
			break
		}
		if s.pace.waiting == nil {
			s.pace.waiting = make(chan struct{})
		}
		wait := s.pace.waiting
		s.mu.Unlock()
		timer.Reset(checkEvery)
		select {
		case <-wait:
		case <-timer.C:
		case <-p.done:
		}
		s.mu.Lock()
		if s.now != p {
			return false
		}
	}
	return true
}

// slowest returns the number of the next frame for the slowest active viewer, or of
// the oldest frame.
func (s *Stream) slowest() uint64 {
	r := &s.ring
	if s.arriving > 0 || s.claims.open > 0 {
		return r.first
	}
	least := r.next
	for _, g := range s.groups {
		least = min(least, g.least.Load())
	}
	return max(least, r.first)
}

// caughtUp wakes a waiting publisher when viewers have made progress.
func (s *Stream) caughtUp() {
	if s.pace.waiting != nil {
		close(s.pace.waiting)
		s.pace.waiting = nil
	}
}
