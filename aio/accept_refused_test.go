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
		a := &acceptor{intake: in, listener: l, on: w, pause: maxPause}
		a.accepted(&OpResult{Conn: near})
		if a.pause != 0 {
			t.Errorf("%v: after a connection the next pause begins at %v", err, a.pause)
		}
		if n := w.coming.Load(); n != 0 {
			t.Errorf("%v: %d connections are on their way", err, n)
		}
	}
	if len(heard) != 2 || !errors.Is(heard[0], syscall.ENOSPC) || !errors.Is(heard[1], syscall.ENOMEM) {
		t.Errorf("OnError hears %v", heard)
	}
}

// refuser is a Handler that closes what comes.
type refuser struct{}

func (refuser) Accepted(_ *Watcher, conn net.Conn) { conn.Close() }
func (refuser) Completed(*Watcher, *OpResult)      {}

// A connection that was posted to a watcher is on its way until the handler has it.
func TestConnectionOnItsWayIsCountedUntilItIsAccepted(t *testing.T) {
	w := &served{Watcher: &Watcher{driver: unwatchable{}}}
	in := &intake{watchers: []*served{w}}
	near, far := net.Pipe()
	defer far.Close()
	in.choose()
	if n := w.coming.Load(); n != 1 {
		t.Errorf("%d connections are on their way", n)
	}
	(&serving{server: &Server{Handler: refuser{}}}).handle(w, &OpResult{Context: newcomer(true), Conn: near})
	if n := w.coming.Load(); n != 0 {
		t.Errorf("%d connections are on their way when it has come", n)
	}
}
