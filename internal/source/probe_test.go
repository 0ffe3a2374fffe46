package source_test

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/source"
)

// unreadable is a connection without a descriptor, of which only Read is called.
type unreadable struct{ read func() (int, error) }

func (c *unreadable) Read([]byte) (int, error)       { return c.read() }
func (*unreadable) Write(p []byte) (int, error)      { return len(p), nil }
func (*unreadable) Close() error                     { return nil }
func (*unreadable) LocalAddr() net.Addr              { return nil }
func (*unreadable) RemoteAddr() net.Addr             { return nil }
func (*unreadable) SetDeadline(time.Time) error      { return nil }
func (*unreadable) SetReadDeadline(time.Time) error  { return nil }
func (*unreadable) SetWriteDeadline(time.Time) error { return nil }

// The deadline of an earlier wait may be seen while the next one begins, when the program has
// taken it away.
func TestWhatAProbeSawBeforeAWaitDoesNotEndIt(t *testing.T) {
	var w source.Watch
	first, second := make(chan error, 1), make(chan error, 1)
	asked := make(chan struct{})
	calls := 0
	var c *unreadable
	c = &unreadable{read: func() (int, error) {
		switch calls++; calls {
		case 1: // the wait ends during this call, and the next one begins
			w.Stop()
			w.Start(c, second)
			return 0, os.ErrDeadlineExceeded
		case 2:
			close(asked)
			return 0, nil
		}
		return 0, net.ErrClosed
	}}
	w.Start(c, first)
	select {
	case <-asked:
	case err := <-second:
		t.Fatalf("the second wait was ended by %v", err)
	}
	if err := <-second; err != net.ErrClosed {
		t.Errorf("the second wait was ended by %v", err)
	}
	if len(first) > 0 {
		t.Errorf("the first wait was ended by %v after Stop", <-first)
	}
	w.Stop()
}
