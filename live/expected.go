package live

import "time"

// expected is a stream that goroutines wait for in Hub.Wait.
type expected struct {
	waiters int
	came    chan struct{} // closed when the stream comes, or the hub is closed
	stream  *Stream       // that came, if one did
}

// claims are the reservations of the goroutines that have waited for a stream in
// Hub.Wait. Until they have added their viewers, claimTime at most, the stream keeps
// everything, even if it is over by then, and a fast publisher waits for them.
type claims struct {
	open  int
	timer *time.Timer
}

// claimTime is how long claims last.
const claimTime = time.Second

// expect opens n claims to a stream that is new.
func (s *Stream) expect(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n == 0 {
		return
	}
	s.claims.open = n
	s.holders++
	s.claims.timer = time.AfterFunc(claimTime, s.unexpect)
}

// claimed closes a claim, if there is one. It is called with the lock held.
func (s *Stream) claimed(n int) {
	if s.claims.open == 0 {
		return
	}
	if s.claims.open -= min(n, s.claims.open); s.claims.open == 0 {
		s.claims.timer.Stop()
		s.holders--
		s.letGo()
		s.caughtUp()
	}
}

// unexpect closes all claims.
func (s *Stream) unexpect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claimed(s.claims.open)
}
