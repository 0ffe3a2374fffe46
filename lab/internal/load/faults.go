package load

// pausedUntil returns when the current pause ends, and 0 when there is none.
func (f *Faults) pausedUntil(now int64) int64 {
	if f.PauseEvery == 0 {
		return 0
	}
	cycle := int64(f.PauseEvery + f.PauseFor)
	if at := now % cycle; at >= int64(f.PauseEvery) {
		return now - at + cycle
	}
	return 0
}

// slow reports whether a connection reads slowly on purpose.
func (f *Faults) slow(number uint32) bool { return int(number) < f.SlowConns }

// resets reports whether to reset the connection in the middle of a request.
func (f *Faults) resets(seq uint64) bool {
	return f.ResetEvery > 0 && seq%uint64(f.ResetEvery) == uint64(f.ResetEvery)-1
}

// A sip is how much a slow reader takes, and when it may take more.
type sip struct {
	rate float64 // bytes a second
	at   int64   // when it may read again
}

// sipLen bounds what is taken at once.
const sipLen = 4096

// allow returns how many bytes may be read now or, if none, from when on.
func (s *sip) allow(now int64) (n int, at int64) {
	if now < s.at {
		return 0, s.at
	}
	// What it may read in a hundredth of a second, so that it reads evenly.
	return max(1, min(sipLen, int(s.rate/100))), 0
}

// took counts n bytes that were read.
func (s *sip) took(n int, now int64) {
	s.at = now + int64(float64(n)/s.rate*1e9)
}
