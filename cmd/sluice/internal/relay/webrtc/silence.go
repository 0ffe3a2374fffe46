package webrtc

import "time"

const (
	// lostAfter is for how long nothing may come from a client: it checks the connection
	// every 2.5 s (RFC 7675, section 5.1, has 5 s).
	lostAfter = 12 * time.Second
	// lostSteps are the parts of lostAfter in which it is looked at.
	lostSteps = 12
)

// silence waits until nothing has come from the client for lostAfter, and reports whether it has before done is
// closed. A time in which this process stood still, and what came lies unread, does not count.
func (h *handshake) silence(done <-chan struct{}) bool {
	looks := time.NewTicker(lostAfter / lostSteps)
	defer looks.Stop()
	heard, silent := h.heard.Load(), 0
	for silent < lostSteps {
		select {
		case <-done:
			return false
		case <-looks.C:
		}
		silent++
		if n := h.heard.Load(); n != heard {
			heard, silent = n, 0
		}
	}
	return true
}
