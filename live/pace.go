package live

import "time"

// pace finds out when a publisher is faster than real time.
type pace struct {
	begun   bool
	first   uint32 // time of the first frame of media
	from    int64  // when it came, on the stream's clock
	safe    int64  // place in bodies up to which no viewer is too far behind
	waiting chan struct{}
}

// checkEvery is how often a publisher who waits looks at the clock.
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

// watch takes note that the publisher is too fast, or is not any more.
func (s *Stream) watch(fast bool) bool {
	if fast != s.watched.Load() {
		s.watched.Store(fast)
		s.pace.safe = 0
		for _, g := range s.groups {
			g.least.Store(0) // not known yet
		}
	}
	return fast
}

// slow makes a publisher who is too fast wait until no viewer is far behind, or
// real time has come near. It is called with the lock held, gives it up
// meanwhile, and reports whether p may go on.
func (s *Stream) slow(p *Publisher, at uint32) bool {
	if s.ring.bodies.end < s.pace.safe {
		return true
	}
	limit := int64(s.options.GOPBytes / 2)
	timer := time.NewTimer(checkEvery)
	defer timer.Stop()
	for s.pace.ahead(s, at) > s.options.Ahead {
		behind := s.slowest()
		if s.ring.bodies.end-behind < limit {
			s.pace.safe = behind + limit
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

// slowest returns the place of the viewer who is furthest behind, of those
// that take something.
func (s *Stream) slowest() int64 {
	end := s.ring.bodies.end
	if s.arriving > 0 || s.claims.open > 0 {
		end = s.ring.place(s.ring.first)
	}
	for _, g := range s.groups {
		if seq, ok := g.slowest(); ok && seq < s.ring.next {
			end = min(end, s.ring.place(max(seq, s.ring.first)))
		}
	}
	return end
}

// caughtUp tells a publisher who waits that viewers have gone on.
func (s *Stream) caughtUp() {
	if s.pace.waiting != nil {
		close(s.pace.waiting)
		s.pace.waiting = nil
	}
}
