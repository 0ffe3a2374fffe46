package session

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

// However it is noticed that a peer has left, the reason is the same.
func TestPeerErrors(t *testing.T) {
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE} {
		if got := PeerError(fmt.Errorf("write: %w", err)); got != ErrPeerGone {
			t.Errorf("%v is %v", err, got)
		}
	}
	if got := PeerError(&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}); got != ErrIdle {
		t.Errorf("a deadline is %v", got)
	}
	if other := errors.New("other"); PeerError(other) != other {
		t.Error("another error is changed")
	}
}
