package aio_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
)

// spreadsConnections says whether Listen opens more than one listener here.
var spreadsConnections = runtime.GOOS == "linux" || runtime.GOOS == "freebsd"

func needSpreading(t *testing.T) {
	t.Helper()
	if !spreadsConnections {
		t.Skip("this system does not spread connections among listeners")
	}
}

func TestEachOfSeveralListenersGetsConnections(t *testing.T) {
	needSpreading(t)
	const n = 4
	for _, network := range []string{"tcp", "tcp4"} {
		listeners, err := aio.Listen(t.Context(), network, "127.0.0.1:0", n)
		if err != nil {
			t.Fatal(err)
		}
		addr := listeners[0].Addr().String()
		accepted := make(chan int)
		for i, l := range listeners {
			defer l.Close()
			if got := l.Addr().String(); got != addr || len(listeners) != n {
				t.Fatalf("%s: listener %d of %d is on %s, the first on %s", network, i, len(listeners), got, addr)
			}
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					c.Close()
					accepted <- i
				}
			}()
		}
		// Each connection falls to one of four by a hash: that one of them gets
		// none of 200 happens once in 10^24 runs.
		share := make(map[int]int)
		for range 200 {
			c, err := net.DialTimeout(network, addr, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
			select {
			case i := <-accepted:
				share[i]++
			case <-time.After(time.Minute):
				t.Fatalf("%s: a connection is accepted by nobody", network)
			}
		}
		if len(share) != n {
			t.Errorf("%s: 200 connections went to %v", network, share)
		}
	}
}

func TestListenersJoinThoseOfAnotherCall(t *testing.T) {
	needSpreading(t)
	first, err := aio.Listen(t.Context(), "tcp", "127.0.0.1:0", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer first[0].Close()
	more, err := aio.Listen(t.Context(), "tcp", first[0].Addr().String(), 2)
	if err != nil {
		t.Fatalf("a port on which Listen listens is not shared: %v", err)
	}
	for _, l := range more {
		l.Close()
	}
}

func TestListenTellsOfAPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got, err := aio.Listen(t.Context(), "tcp", l.Addr().String(), 1)
	if got != nil || err == nil {
		t.Fatalf("%d listeners on a port in use, error %v", len(got), err)
	}
	if runtime.GOOS != "windows" && !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("the error for a port in use is %v", err)
	}
	var op *net.OpError
	if !errors.As(err, &op) {
		t.Errorf("not an error of package net: %v", err)
	}
}

func TestListenOnWhatCannotBeShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	one, err := aio.Listen(t.Context(), "unix", path, 1)
	if err != nil {
		t.Fatal(err)
	}
	one[0].Close()
	for _, c := range []struct{ network, addr string }{{"unix", path}, {"udp", "127.0.0.1:0"}} {
		if l, err := aio.Listen(t.Context(), c.network, c.addr, 2); l != nil || !errors.Is(err, aio.ErrUnsupported) || !strings.Contains(err.Error(), c.network) {
			t.Errorf("two listeners on %s: %v", c.network, err)
		}
	}
	if !spreadsConnections {
		if l, err := aio.Listen(t.Context(), "tcp", "127.0.0.1:0", 2); l != nil || !errors.Is(err, aio.ErrUnsupported) {
			t.Errorf("two listeners on a system that does not spread connections: %v", err)
		}
	}
	if l, err := aio.Listen(t.Context(), "tcp", "not an address", 1); l != nil || err == nil {
		t.Errorf("an address that is none: %v", err)
	}
}

func TestListenOfNothingPanics(t *testing.T) {
	for n, want := range map[int]string{0: "aio: Listen with 0 listeners", -3: "aio: Listen with -3 listeners"} {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("Listen of %d: panic %v", n, got)
				}
			}()
			_, _ = aio.Listen(context.Background(), "tcp", "127.0.0.1:0", n)
		}()
	}
}
