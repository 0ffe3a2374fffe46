package hls

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// Requests that wait are bounded for one address and in all, and make room when they end.
func TestRequestsThatWaitAreBounded(t *testing.T) {
	s := New(&session.Host{}, 0)
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
