package tlsfed

import "sync"

// Handshakes runs handshakes, each in a goroutine, and a limited number at once. The
// others wait for one to end, first come, first served. Without handshakes there is no
// goroutine. Its method may be called from any goroutine.
type Handshakes struct {
	// Limit is how many handshakes are under way at once; at least 1.
	Limit int

	mu      sync.Mutex
	running int
	waiting []*Session // from next on
	next    int
}

// start runs the handshake of s, now or later.
func (h *Handshakes) start(s *Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running >= h.Limit {
		h.waiting = append(h.waiting, s)
		return
	}
	h.running++
	go h.run(s)
}

// run does the handshake of s, and then of those that wait.
func (h *Handshakes) run(s *Session) {
	for s != nil {
		s.handshake()
		s = h.following()
	}
}

// following returns the session that has waited longest, or nil when the goroutine
// should end.
func (h *Handshakes) following() *Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.next == len(h.waiting) {
		h.waiting, h.next = h.waiting[:0], 0
		h.running--
		return nil
	}
	s := h.waiting[h.next]
	h.waiting[h.next] = nil
	h.next++
	if h.next > len(h.waiting)/2 {
		n := copy(h.waiting, h.waiting[h.next:])
		clear(h.waiting[n:])
		h.waiting, h.next = h.waiting[:n], 0
	}
	return s
}
