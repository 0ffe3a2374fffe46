package webrtc

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// fullUntil is a listener for whose connections there is no descriptor, until it is closed at a time.
type fullUntil struct {
	net.Listener
	closed time.Time
}

func (l fullUntil) Accept() (net.Conn, error) {
	if time.Now().Before(l.closed) {
		return nil, syscall.EMFILE
	}
	return nil, net.ErrClosed
}

func (fullUntil) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
func (fullUntil) Close() error   { return nil }

// Connections that cannot be accepted fill no log: a line a second says it, as of other listeners.
func TestErrorsOfAcceptAreLoggedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		h := &session.Host{Log: slog.New(slog.NewTextHandler(&log, nil)), Ctx: t.Context()}
		b := newBounded(fullUntil{closed: time.Now().Add(10 * time.Second)}, &Server{Host: h})
		if _, err := b.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Fatal(err)
		}
		if n := bytes.Count(log.Bytes(), []byte("listener=webrtc")); n < 8 || n > 11 {
			t.Errorf("%d lines in ten seconds: %.500s", n, log.Bytes())
		}
	})
}
