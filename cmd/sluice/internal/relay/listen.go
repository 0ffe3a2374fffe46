package relay

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

// A listener is one address that the server listens at.
type listener struct {
	net.Listener
	setting string // its name among the settings
	serve   func(*listener) error
}

// A ListenError says which listener could not be opened.
type ListenError struct {
	Setting string // rtmp, rtmps, http, https, pprof
	Address string
	Err     error
}

func (e *ListenError) Error() string {
	why := e.Err.Error()
	var op *net.OpError
	if errors.As(e.Err, &op) {
		why = op.Err.Error()
	}
	var number syscall.Errno
	if errors.As(e.Err, &number) {
		why = number.Error()
	}
	return fmt.Sprintf("%s: cannot listen at %s: %s", e.Setting, e.Address, why)
}

func (e *ListenError) Unwrap() error { return e.Err }

// Listen opens all listeners, so that their addresses are known, or none: the
// error is a *ListenError then.
func (s *Server) Listen() error {
	c := s.config()
	for _, l := range []struct {
		setting, address string
		secure           bool
		serve            func(*listener) error
	}{
		{"rtmp", c.RTMP, false, func(l *listener) error { return s.acceptRTMP(l, false) }},
		{"rtmps", c.RTMPS, true, func(l *listener) error { return s.acceptRTMP(l, true) }},
		{"http", c.HTTP, false, func(l *listener) error { return s.web.serve(l) }},
		{"https", c.HTTPS, true, func(l *listener) error { return s.web.serveTLS(l, s.certs.config("http/1.1")) }},
		{"pprof", c.PProf, false, servePProf},
	} {
		if !config.On(l.address) {
			continue
		}
		opened, err := net.Listen("tcp", l.address)
		if err != nil {
			for _, other := range s.listeners {
				other.Close()
			}
			s.listeners = nil
			return &ListenError{l.setting, l.address, err}
		}
		s.listeners = append(s.listeners, &listener{opened, l.setting, l.serve})
	}
	return nil
}

// Addresses returns where the server listens, by the names of the settings.
func (s *Server) Addresses() map[string]string {
	m := make(map[string]string, len(s.listeners))
	for _, l := range s.listeners {
		m[l.setting] = l.Addr().String()
	}
	return m
}

// acceptRTMP accepts connections until the listener is closed.
func (s *Server) acceptRTMP(l *listener, secure bool) error {
	var pause time.Duration
	for {
		conn, err := l.Accept()
		if err != nil {
			if s.closing() {
				return nil
			}
			if errors.Is(err, net.ErrClosed) {
				return err
			}
			// Descriptors or memory have run out, say: that passes. net/http
			// waits as long.
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.log.Warn("cannot accept", "listener", l.setting, "error", err, "retry", pause)
			wait := time.NewTimer(pause)
			select {
			case <-wait.C:
			case <-s.ctx.Done():
				wait.Stop()
			}
			continue
		}
		pause = 0
		deadline := time.Now().Add(s.times.header)
		s.sessions.run(conn, func(conn net.Conn) {
			if !secure {
				s.serveRTMP(s.ctx, conn, protocolRTMP, deadline)
				return
			}
			encrypted := tls.Server(conn, s.certs.config())
			ctx, cancel := context.WithDeadline(s.ctx, deadline)
			err := encrypted.HandshakeContext(ctx)
			cancel()
			if err != nil {
				s.log.Debug("TLS handshake failed", "listener", l.setting, "address", conn.RemoteAddr().String(), "error", err)
				return
			}
			s.serveRTMP(s.ctx, encrypted, protocolRTMPS, deadline)
		})
	}
}
