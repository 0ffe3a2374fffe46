package tlsfed_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio/internal/tlsfed"
)

// running counts the goroutines that do handshakes.
func running() int {
	stacks := make([]byte, 4<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "tlsfed.(*Handshakes).run(")
}

// waitRunning waits until so many do.
func waitRunning(t *testing.T, want int) {
	t.Helper()
	for deadline := time.Now().Add(atMost); running() != want; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines do handshakes, want %d", running(), want)
		}
	}
}

// mute is a client's connection on which it hears nothing.
type mute struct {
	net.Conn
	ended <-chan struct{}
}

func (m mute) Read([]byte) (int, error) {
	<-m.ended
	return 0, io.EOF
}

func TestHandshakesAreLimitedAndLeaveNoGoroutine(t *testing.T) {
	const limit = 2
	server, clientConfig := configs(t, tls.VersionTLS13)
	handshakes := &tlsfed.Handshakes{Limit: limit}
	ended := make(chan struct{})
	var stalled []*stalledClient
	for range 2 * limit {
		raw, end, _ := serveWith(t, server, 64<<10, handshakes)
		go tls.Client(mute{raw, ended}, clientConfig).Handshake()
		stalled = append(stalled, &stalledClient{raw, end})
	}
	waitRunning(t, limit)
	raw, waits, _ := serveWith(t, server, 64<<10, handshakes)
	client := tls.Client(raw, clientConfig)
	shaken := make(chan error, 1)
	go func() { shaken <- client.Handshake() }()
	if n := running(); n != limit {
		t.Errorf("%d goroutines", n)
	}
	for _, s := range stalled {
		s.conn.Close() // the server reads the end, and the next handshake starts
	}
	for _, s := range stalled {
		if err := result(t, s.ended); err == nil {
			t.Error("a handshake that stalled has succeeded")
		}
	}
	if err := <-shaken; err != nil {
		t.Fatal(err)
	}
	echo(t, client, 100)
	waitRunning(t, 0)
	client.Close()
	if err := result(t, waits); err != io.EOF {
		t.Error(err)
	}
	close(ended)
}

type stalledClient struct {
	conn  net.Conn
	ended chan error
}

// A callback of the program that waits is notified when the session is closed.
func TestEndOfAHandshakeInACallback(t *testing.T) {
	config := &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		<-hello.Context().Done()
		return nil, context.Cause(hello.Context())
	}}
	_, clientConfig := configs(t, tls.VersionTLS13)
	raw, ended, s := serve(t, config, 64<<10)
	go tls.Client(raw, clientConfig).Handshake()
	waitRunning(t, 1)
	reason := errors.New("the reason")
	s.session.End(reason)
	if err := result(t, ended); err != reason {
		t.Errorf("the server ends with %v", err)
	}
	waitRunning(t, 0)
}
