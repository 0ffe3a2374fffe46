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
