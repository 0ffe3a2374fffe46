package aio

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// unwatchable is a driver that cannot take connections over.
type unwatchable struct {
	driver
	err error
}

func (unwatchable) Load() int                         { return 0 }
func (unwatchable) Submit(net.Conn, op.Request) error { return nil }
func (d unwatchable) Adopt(net.Conn, any) error       { return d.err }

// A connection that was accepted and cannot be watched, as with max_user_watches used up,
// is closed, and the server says why; not so at its end.
func TestServeSaysWhyAConnectionIsNotWatched(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	var heard []error
	in := &intake{ctx: context.Background(), hear: func(err error) { heard = append(heard, err) }}
	for _, err := range []error{syscall.ENOSPC, nil, ErrWatcherClosed, syscall.ENOMEM} {
		w := &served{Watcher: &Watcher{driver: unwatchable{err: err}}}
		in.watchers = []*served{w}
		a := &acceptor{intake: in, listener: l, on: w}
		a.accepted(&OpResult{Conn: near})
		if n := w.coming.Load(); n != 0 {
			t.Errorf("%v: %d connections are on their way", err, n)
		}
	}
	if len(heard) != 2 || !errors.Is(heard[0], syscall.ENOSPC) || !errors.Is(heard[1], syscall.ENOMEM) {
		t.Errorf("OnError hears %v", heard)
	}
}
