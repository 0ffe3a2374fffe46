package hls

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// Requests that wait are bounded for one address and in all, and make room when they end.
func TestRequestsThatWaitAreBounded(t *testing.T) {
	s := New(&session.Host{}, 0, 0)
	one := netip.MustParseAddr("192.0.2.1")
	var leave []func()
	for range maxWaitingPerAddress {
		l, err := s.wait(one)
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, l)
	}
	if _, err := s.wait(one); !errors.Is(err, errBusy) {
		t.Errorf("one more: %v", err)
	}
	for i := 1; ; i++ {
		l, err := s.wait(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}))
		if err != nil {
			break
		}
		leave = append(leave, l)
	}
	if len(leave) != maxWaiting {
		t.Errorf("%d wait, the limit is %d", len(leave), maxWaiting)
	}
	for _, l := range leave {
		l()
	}
	if len(s.waiting) != 0 || s.inAll != 0 {
		t.Errorf("%d addresses and %d requests are left", len(s.waiting), s.inAll)
	}
	if l, err := s.wait(one); err != nil {
		t.Error(err)
	} else {
		l()
	}
}

// A request that waits takes memory: with little of it few may.
func TestFewRequestsWaitWithLittleMemory(t *testing.T) {
	for _, c := range []struct {
		memory int64
		want   waitingLimits
	}{{0, waitingLimits{50_000, 10_000}}, {64 << 20, waitingLimits{4096, 2048}}, {1 << 40, waitingLimits{50_000, 10_000}}} {
		if got := mostWaiting(c.memory); got != c.want {
			t.Errorf("%d bytes: %+v", c.memory, got)
		}
	}
}

// Media for which there is no place is refused, with the reason and when to come again.
func TestMediaWithoutAPlace(t *testing.T) {
	s := New(&session.Host{}, 0, 0)
	s.Sending = func(*http.Request) (func(), error) { return nil, session.ErrFull }
	rw := httptest.NewRecorder()
	(&viewer{server: s}).sendParts(rw, httptest.NewRequest("GET", "/live/s/.hls/0/s1.m4s", nil), retain(nil))
	if rw.Code != http.StatusServiceUnavailable || rw.Header().Get("Retry-After") != "1" || !strings.Contains(rw.Body.String(), session.ErrFull.Error()) {
		t.Errorf("%d, %v: %s", rw.Code, rw.Header(), rw.Body)
	}
}
