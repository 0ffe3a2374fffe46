package web

import (
	"net"
	"net/http"
	"testing"
	"time"
)

// A connection without a header is closed, and no timer is left of any.
func TestFirstHeaders(t *testing.T) {
	f := firstHeaders{within: 10 * time.Millisecond}
	for _, next := range []http.ConnState{http.StateActive, http.StateClosed, http.StateHijacked} {
		conn, peer := net.Pipe()
		f.state(conn, http.StateNew)
		if next == http.StateClosed {
			if _, err := peer.Read(make([]byte, 1)); err == nil {
				t.Error("not closed")
			}
		}
		f.state(conn, next)
		f.mu.Lock()
		if len(f.came) != 0 {
			t.Errorf("%d timers are left after %v", len(f.came), next)
		}
		f.mu.Unlock()
		conn.Close()
		peer.Close()
	}
}
