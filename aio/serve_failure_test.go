package aio_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
)

// failing is a listener whose Accept returns the errors first, and the last of
// them for ever when stuck.
type failing struct {
	net.Listener
	errs  chan error
	stuck error
}

func (l *failing) Accept() (net.Conn, error) {
	select {
	case err := <-l.errs:
		return nil, err
	default:
	}
	if l.stuck != nil {
		return nil, l.stuck
	}
	return l.Listener.Accept()
}

func TestServeOutlivesErrorsThatPass(t *testing.T) {
	l := &failing{Listener: listenOn(t, 1)[0], errs: make(chan error, 10)}
	passing := []error{
		&net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)},
		&net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.ENFILE)},
		&net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.ECONNABORTED)},
		&net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.ENOMEM)},
		// Of one connection, which Linux says to the accept that comes next.
		&net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EPERM)},
		&net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EPROTO)},
		&net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EHOSTUNREACH)},
	}
	if runtime.GOOS == "windows" {
		passing = passing[:2]
	}
	for _, err := range passing {
		l.errs <- err
	}
	heard := make(chan error, len(passing)+1)
	r := serve(t, &aio.Server{Handler: &echoes{}, OnError: func(err error) { heard <- err }}, []net.Listener{l})
	sayAndHear(t, dialTo(t, "tcp", r.addrs[0]), "after that")
	r.stop()
	if err := r.wait(); err != nil {
		t.Error(err)
	}
	close(heard)
	for _, want := range passing {
		if got := <-heard; got != want {
			t.Errorf("OnError hears %v, want %v", got, want)
		}
	}
	if err := <-heard; err != nil {
		t.Errorf("and %v", err)
	}
}

func TestServeEndsWhileItWaitsForDescriptors(t *testing.T) {
	emfile := os.NewSyscallError("accept4", syscall.EMFILE)
	l := &failing{Listener: listenOn(t, 1)[0], stuck: emfile}
	heard := make(chan error, 1000)
	began := time.Now()
	r := serve(t, &aio.Server{Handler: &echoes{}, OnError: func(err error) {
		select {
		case heard <- err:
		default: // enough
		}
	}}, []net.Listener{l})
	for range 5 {
		select {
		case err := <-heard:
			if err != emfile {
				t.Error(err)
			}
		case <-time.After(atMost):
			t.Fatal("Serve does not try again")
		}
	}
	if pause := time.Since(began); pause < 75*time.Millisecond {
		t.Errorf("four pauses, 5 ms and twice as long each time, took %v", pause)
	}
	r.stop()
	if err := r.wait(); err != nil {
		t.Error(err)
	}
}

func TestServeEndsWithTheErrorOfAListener(t *testing.T) {
	overBothDrivers(t, func(t *testing.T, d aio.Driver) {
		broken := errors.New("broken")
		l := &failing{Listener: listenOn(t, 1)[0], errs: make(chan error, 1)}
		var h echoes
		r := serve(t, &aio.Server{Handler: &h, Options: aio.Options{Driver: d}}, append(listenOn(t, 1), l))
		c := dialTo(t, "tcp", r.addrs[0])
		sayAndHear(t, c, "a client of the other")
		// The second Accept of the one that breaks looks, or already the first: then the
		// server may have ended.
		l.errs <- broken
		if c, err := net.Dial("tcp", r.addrs[1]); err == nil {
			defer c.Close()
		}
		if err := r.wait(); err != broken {
			t.Errorf("Serve returns %v", err)
		}
		checkEnded(t, c)
	})
}

func TestServeEndsWhenAListenerIsClosedByOthers(t *testing.T) {
	for name, begun := range map[string]bool{"before it accepts": false, "while it accepts": true} {
		overBothDrivers(t, func(t *testing.T, d aio.Driver) {
			listeners := listenOn(t, 2)
			if !begun {
				listeners[1].Close()
			}
			ended := make(chan struct{})
			h := handler{accepted: func(w *aio.Watcher, conn net.Conn) {
				w.Free(conn)
				if begun {
					listeners[1].Close()
				}
				close(ended)
			}}
			r := serve(t, &aio.Server{Handler: h, Options: aio.Options{Driver: d}}, listeners)
			if begun {
				checkEnded(t, dialTo(t, "tcp", r.addrs[1]))
				<-ended
			}
			if err := r.wait(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("closed %s: Serve returns %v", name, err)
			}
		})
	}
}

func TestServeEndsWhenTheHandlerClosesAWatcher(t *testing.T) {
	overBothDrivers(t, func(t *testing.T, d aio.Driver) {
		h := handler{accepted: func(w *aio.Watcher, conn net.Conn) {
			w.Free(conn)
			w.Close()
		}}
		r := serve(t, &aio.Server{Handler: h, Options: aio.Options{Driver: d}}, listenOn(t, 2))
		checkEnded(t, dialTo(t, "tcp", r.addrs[1]))
		if err := r.wait(); !errors.Is(err, aio.ErrWatcherClosed) {
			t.Errorf("Serve returns %v", err)
		}
	})
}

func TestFreeClosesWhatAClosedWatcherRefuses(t *testing.T) {
	overBothDrivers(t, func(t *testing.T, d aio.Driver) {
		w, err := aio.NewWatcherOptions(aio.Options{Driver: d})
		if err != nil {
			t.Fatal(err)
		}
		l := listenOn(t, 1)[0]
		far := dialTo(t, "tcp", l.Addr().String())
		near, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
		if err := w.Read(nil, near, nil); !errors.Is(err, aio.ErrWatcherClosed) {
			t.Errorf("a read on a closed watcher: %v", err)
		}
		if err := w.Free(near); err != nil {
			t.Errorf("Free: %v", err)
		}
		checkEnded(t, far)
	})
}

func TestServeThatCannotStart(t *testing.T) {
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		server aio.Server
		want   error
	}{
		"no such driver": {aio.Server{Options: aio.Options{Driver: aio.Driver(99)}}, aio.ErrUnsupported},
		"Started":        {aio.Server{Started: func(*aio.Watcher, net.Listener) error { return refused }}, refused},
	} {
		c.server.Handler = &echoes{}
		if err := serve(t, &c.server, listenOn(t, 2)).wait(); !errors.Is(err, c.want) {
			t.Errorf("%s: Serve returns %v", name, err)
		}
	}
}

func TestServeOfAContextThatIsDone(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	l := listenOn(t, 1)
	if err := aio.Serve(ctx, l, aio.Options{}, &echoes{}); err != nil {
		t.Error(err)
	}
	if _, err := l[0].Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is left open: %v", err)
	}
}

func TestServeOfNothingPanics(t *testing.T) {
	for _, c := range []struct {
		listeners []net.Listener
		handler   aio.Handler
		want      string
	}{
		{nil, &echoes{}, "aio: Serve with 0 listeners and a handler of type *aio_test.echoes"},
		{listenOn(t, 1), nil, "aio: Serve with 1 listeners and a handler of type <nil>"},
		{append(listenOn(t, 1), nil), &echoes{}, "aio: Serve with a nil listener, number 2 of 2"},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != c.want {
					t.Errorf("panic %q, want %q", got, c.want)
				}
			}()
			_ = aio.Serve(context.Background(), c.listeners, aio.Options{}, c.handler)
		}()
	}
}
