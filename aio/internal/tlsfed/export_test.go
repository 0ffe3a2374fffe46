package tlsfed

// BeginWrite makes the session look as it does while another goroutine is in Write, with n
// bytes.
func (s *Session) BeginWrite(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batch.begin(s.out, n)
}

// ReadWire is a read of crypto/tls.
func (s *Session) ReadWire(p []byte) (int, error) { return (*wire)(s).Read(p) }

// Idle is what the budget knows of as held by a session that waits for a place.
func (s *Session) Idle() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opening.idle
}
