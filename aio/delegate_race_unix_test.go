//go:build unix && !aix && !solaris && !illumos

package aio_test

import (
	"errors"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
)

// reluctant is a connection whose descriptor is refused, once meanwhile has been called.
type reluctant struct {
	net.Conn
	meanwhile func()
	refusal   error
}

func (c *reluctant) SyscallConn() (syscall.RawConn, error) {
	c.meanwhile()
	return nil, c.refusal
}

// waitLocked waits until a goroutine waits for a lock in the function of that name.
func waitLocked(t *testing.T, in string) {
	t.Helper()
	b := make([]byte, 4<<20)
	for deadline := time.Now().Add(atMost); time.Now().Before(deadline); runtime.Gosched() {
		for g := range strings.SplitSeq(string(b[:runtime.Stack(b, true)]), "\n\n") {
			if strings.Contains(g, "sync.(*Mutex).Lock") && strings.Contains(g, in) {
				return
			}
		}
	}
	t.Error("no goroutine waits in " + in)
}

// What comes while the first submission takes a connection over, and cannot, finds it as if that
// submission had not been.
func TestCallsWhileAConnectionIsNotTakenOver(t *testing.T) {
	w, err := aio.NewWatcherOptions(aio.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	refusal := errors.New("no descriptor")
	for _, call := range []struct {
		name, in string
		call     func(c net.Conn) error
		want     error
		closes   bool
	}{
		{"Free", "ready.(*Driver).CloseConn(", w.Free, nil, true},
		{"Read", "ready.(*Driver).Submit(", func(c net.Conn) error { return w.Read(nil, c, nil) }, refusal, false},
	} {
		near, far := tcpPair(t)
		c := &reluctant{Conn: near, refusal: refusal}
		second := make(chan error, 1)
		c.meanwhile = func() {
			c.meanwhile = func() {}
			go func() { second <- call.call(c) }()
			waitLocked(t, call.in)
		}
		if err := w.Read(nil, c, nil); !errors.Is(err, refusal) {
			t.Errorf("the first Read returns %v", err)
		}
		if err := <-second; !errors.Is(err, call.want) {
			t.Errorf("%s returns %v, want %v", call.name, err, call.want)
		}
		if _, err := near.Write([]byte("x")); errors.Is(err, net.ErrClosed) != call.closes {
			t.Errorf("%s: the connection says %v", call.name, err)
		}
		far.Close()
	}
}
