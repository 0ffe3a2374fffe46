package netsim

import (
	"errors"
	"net"
	"testing"
	"time"
)

// The other end's reset ends a Conn but leaves the connection under it open;
// its descriptor must not wait for the collector once Close was called.
func TestCloseAfterTheOtherEndsResetClosesBelow(t *testing.T) {
	a, b, err := TCPPipe(Options{}, Options{Latency: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	a.Reset()
	if err := b.Close(); err != nil {
		t.Errorf("Close returned %v", err)
	}
	if err := a.Close(); err != nil {
		t.Errorf("Close of the end that was reset returned %v", err)
	}
	for _, c := range []*Conn{a, b} {
		if err := c.inner.SetDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the connection below is still open: %v", err)
		}
	}
}
