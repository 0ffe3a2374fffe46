package aio

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"

	"github.com/sluice-go/sluice/internal/testcert"
)

// With a crypto/tls that keeps temporary errors TLS runs on the Std driver, and the
// server says so.
func TestTLSFallsBackToStd(t *testing.T) {
	kept := errors.New("it keeps them")
	old := resumes
	resumes = func() error { return kept }
	defer func() { resumes = old }()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan error, 1)
	kinds := make(chan Driver, 1)
	s := &Server{
		Handler: &ConnHandler[int]{
			TLS:  &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, kept }},
			Data: func(*Conn[int], []byte) error { return nil },
		},
		OnError: func(err error) { heard <- err },
		Started: func(w *Watcher, _ net.Listener) error {
			kind, _ := w.Driver()
			kinds <- kind
			return nil
		},
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, []net.Listener{l}) }()
	if err := <-heard; err != kept {
		t.Errorf("OnError hears %v", err)
	}
	if kind := <-kinds; kind != Std {
		t.Errorf("the driver is %v", kind)
	}
	client, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	var alert *net.OpError
	if err == nil {
		client.Close()
		t.Error("a handshake without a certificate")
	} else if !errors.As(err, &alert) {
		t.Errorf("the client gets %v: no handshake was made", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// There too the callbacks learn what the handshake has agreed on, and have the socket.
func TestStateOfTLSOnStd(t *testing.T) {
	old := resumes
	resumes = func() error { return errors.New("it keeps them") }
	defer func() { resumes = old }()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	check := func(c *Conn[int], over bool) error {
		if state, ok := c.ConnectionState(); !ok || state.HandshakeComplete != over {
			t.Errorf("TLS is %v, and the handshake over: %v, want %v", ok, state.HandshakeComplete, over)
		}
		raw, err := c.SyscallConn()
		if err == nil {
			err = raw.Control(func(uintptr) {})
		}
		return err
	}
	s := &Server{Handler: &ConnHandler[int]{
		TLS:  testcert.Server(t),
		Open: func(c *Conn[int]) error { return check(c, false) },
		Data: func(c *Conn[int], p []byte) error {
			if err := check(c, true); err != nil {
				return err
			}
			_, err := c.Write(p)
			return err
		},
	}}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, []net.Listener{l}) }()
	client, err := tls.Dial("tcp", l.Addr().String(), testcert.Client(t))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
