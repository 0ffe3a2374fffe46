//go:build linux

package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/handover"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// handoverPair returns the two ends of a connection between processes.
func handoverPair(t *testing.T) (old, successor *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		ends[i] = c.(*net.UnixConn)
	}
	return ends[0], ends[1]
}

// handoverConn is one end of it.
func handoverConn(t *testing.T, c *net.UnixConn) *handover.Conn {
	t.Helper()
	h, err := handover.NewConn(c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// inherited begins an upgrade, again when the first words take too long on a busy machine. It
// returns the successor's side, its connection, and what s will say of it.
func (s *relayServer) inherited(t *testing.T, version string) (from *Inheritance, c *handover.Conn, given chan error) {
	t.Helper()
	for end := time.Now().Add(2 * relayWait); ; {
		here, there := handoverPair(t)
		given = make(chan error, 1)
		go func() { given <- s.HandOver(handoverConn(t, here)) }()
		c = handoverConn(t, there)
		from, err := Inherit(c, version)
		if err == nil {
			return from, c, given
		}
		err = errors.Join(err, <-given)
		if time.Now().After(end) || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
	}
}

// upgradeRelay starts a server with the same configuration, in this process, that takes
// over from s, and waits until s has ended. Where it takes too long on a busy machine, s
// goes on, and it is tried again.
func upgradeRelay(t *testing.T, s *relayServer) *relayServer {
	t.Helper()
	return upgradeRelayAfter(t, s, func() {})
}

// upgradeRelayAfter calls before when the new server has everything, before it says so.
func upgradeRelayAfter(t *testing.T, s *relayServer, before func()) *relayServer {
	t.Helper()
	for end := time.Now().Add(2 * relayWait); ; {
		next, err := tryUpgrade(t, s, before)
		if err == nil {
			return next
		}
		if time.Now().After(end) || !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, session.ErrNotStill) {
			t.Fatalf("%v; the log of the old one:\n%s", err, s.log)
		}
	}
}

func tryUpgrade(t *testing.T, s *relayServer, before func()) (*relayServer, error) {
	t.Helper()
	from, _, given := s.inherited(t, "next")
	var err error
	next := &relayServer{log: &relayLog{}, done: make(chan error, 1)}
	next.Server, err = New(*s.host.Config(), Options{
		Logger: slog.New(slog.NewTextHandler(next.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Given:  from.Take, Successor: true, times: s.host.Times,
	})
	if err == nil {
		err = next.Listen()
	}
	if err == nil {
		err = next.takeOver(from, before)
	}
	if err != nil {
		next.Close()
		from.Close()
		if kept := <-given; kept != nil {
			err = kept
		} else {
			err = fmt.Errorf("the old one says that it was taken over: %w", http.ErrAbortHandler)
		}
		return nil, err
	}
	next.http = next.Addresses()["http"]
	var ctx context.Context
	ctx, next.stop = context.WithCancel(context.Background())
	go func() { next.done <- next.Serve(ctx) }()
	t.Cleanup(func() {
		next.Close()
		if err := <-next.done; err != nil && !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
		next.stop()
		if t.Failed() {
			t.Logf("log of a successor:\n%s", next.log)
		}
	})
	if err := <-given; err != nil {
		t.Fatal(err)
	}
	err = <-s.done
	s.done <- err
	s.stop()
	if err != nil {
		t.Fatalf("the old server ended with %v", err)
	}
	return next, nil
}
