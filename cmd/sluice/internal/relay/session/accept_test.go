package session

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
)

// full is a listener for whose connections there is no descriptor.
type full struct{ net.Listener }

func (full) Accept() (net.Conn, error) { return nil, syscall.EMFILE }

// Connections that cannot be accepted fill no log.
func TestErrorsOfAcceptAreLoggedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		h := &Host{Log: slog.New(slog.NewTextHandler(&log, nil)), Ctx: t.Context()}
		l := h.Reporting(full{}, "http")
		for range 300 {
			<-time.After(10 * time.Millisecond)
			if _, err := l.Accept(); err != syscall.EMFILE {
				t.Fatalf("%v", err)
			}
		}
		if n := bytes.Count(log.Bytes(), []byte("\n")); n < 2 || n > 4 {
			text, _ := io.ReadAll(&log)
			t.Errorf("%d lines in three seconds: %.500s", n, text)
		}
	})
}

// counting is a listener that calls before with how many connections there were, and ends after ten.
type counting struct {
	net.Listener
	n      int
	before func(n int)
}

func (l *counting) Accept() (net.Conn, error) {
	if l.before(l.n); l.n == 10 {
		return nil, net.ErrClosed
	}
	l.n++
	conn, _ := net.Pipe()
	return conn, nil
}

// Before the next connection is accepted, those that were have a place or wait for one: where that was left to
// goroutines of their own, a burst took every descriptor before one of them ran.
func TestAcceptedConnectionsCountBeforeTheNextIsAccepted(t *testing.T) {
	h := &Host{Log: slog.New(slog.DiscardHandler), Ctx: t.Context()}
	var a listen.Arrivals
	a.Limit(3, 0)
	leave := make(chan struct{})
	l := &counting{before: func(n int) {
		if s := a.Stats(); s.On+s.Waiting != n {
			t.Errorf("%d of %d connections count", s.On+s.Waiting, n)
		}
	}}
	err := h.Accept(l, "rtmp", nil, &a, func(Arrived) func(func()) {
		<-leave
		return nil
	})
	if err != net.ErrClosed {
		t.Errorf("%v", err)
	}
	close(leave)
	if err := h.Group.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if s := a.Stats(); s.On+s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
}
