package live

import "time"

// checkEvery is how often a waiting publisher checks the clock.
const checkEvery = 20 * time.Millisecond

// tooFast reports whether the publisher of the frame with time at is so far
// ahead that viewers count; now is the stream's clock.
func (s *Stream) tooFast(at uint32, k kind, now int64) bool {
	if !k.media() && !s.options.Raw {
		return s.watched.Load()
	}
	return s.pace.tooFast(at, now, s.options.Ahead)
}

// watch records whether the publisher is too fast.
func (s *Stream) watch(fast bool) bool {
	if fast != s.watched.Load() {
		s.watched.Store(fast)
		s.pace.safe, s.pace.safeSeq = 0, 0
		for _, f := range s.followers {
			f.watch(fast)
		}
	}
	return fast
}

// slow blocks a publisher that is too fast until no viewer is far behind, or until real
// time has nearly caught up. It is called with the lock held, releases it while it
// waits, and reports whether p may go on.
func (s *Stream) slow(p *Publisher, at uint32) bool {
	if s.mayGoOn(at) {
		return true
	}
	s.pace.held = true
	timer := time.NewTimer(checkEvery)
	defer timer.Stop()
	for !s.mayGoOn(at) {
		if s.progress == nil {
			s.progress = make(chan struct{})
		}
		wait := s.progress
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

// mayGoOn reports whether a publisher that is too fast need not wait.
func (s *Stream) mayGoOn(at uint32) bool {
	r := &s.ring
	if s.hurry || r.bodies.end < s.pace.safe && r.next < s.pace.safeSeq || s.pace.ahead(at, s.clock()) <= s.options.Ahead {
		return true
	}
	bytes, frames := int64(s.options.GOPBytes/2), uint64(s.options.GOPFrames/2)
	behind := s.slowest()
	if at := r.place(behind); r.bodies.end-at < bytes && r.next-behind < frames {
		s.pace.safe, s.pace.safeSeq = at+bytes, behind+frames
		return true
	}
	return false
}

// slowest returns the number of the next frame for the slowest active viewer, or of
// the oldest frame.
func (s *Stream) slowest() uint64 {
	r := &s.ring
	if s.arriving > 0 || s.reservations.open > 0 {
		return r.first
	}
	least := r.next
	for _, f := range s.followers {
		least = min(least, f.slowest())
	}
	return max(least, r.first)
}

// Hurry makes a publisher that waits for viewers, because it is faster than real time, go
// on at once, and not wait as long as on is true.
func (s *Stream) Hurry(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hurry = on
	s.caughtUp()
}
