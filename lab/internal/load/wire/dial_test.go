package wire

import (
	"context"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// The error of a target that does not speak TLS, and waits for more, says that.
func TestAHandshakeWithoutAnAnswerIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // nothing is accepted, and the kernel connects
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	target, err := ParseTarget("rediss://"+l.Addr().String(), new(Options))
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := target.Dial(ctx); err == nil {
		conn.Close()
		t.Error("there was no handshake")
	} else if !strings.Contains(err.Error(), "handshake of TLS") {
		t.Errorf("the error does not say what was waited for: %v", err)
	}
}

// The error of a server with a certificate of its own says what to do about it.
func TestUntrustedCertificateNamesWhatTrustsIt(t *testing.T) {
	s := httptest.NewUnstartedServer(nil)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	target, err := ParseTarget(s.URL, new(Options))
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := target.Dial(ctx); err == nil {
		conn.Close()
		t.Error("an unknown certificate was trusted")
	} else if !strings.Contains(err.Error(), "--ca FILE") {
		t.Errorf("the error does not say what to do: %v", err)
	}
}
