package aio

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"
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
