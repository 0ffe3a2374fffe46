//go:build unix

package aio_test

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice/aio"
)

// A callback can set options of the connection's socket, over TLS too, until the end.
func TestOptionsOfAConnection(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		closed := make(closings, 1)
		var raw syscall.RawConn
		h := &aio.ConnHandler[syscall.RawConn]{
			TLS: config,
			Open: func(c *aio.Conn[syscall.RawConn]) error {
				var err, failed error
				if c.State, err = c.SyscallConn(); err != nil {
					return err
				}
				noDelay := 1
				err = c.State.Control(func(fd uintptr) {
					failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 0)
					if failed == nil {
						noDelay, failed = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_NODELAY)
					}
				})
				if noDelay != 0 {
					t.Errorf("TCP_NODELAY is %d after it was set to 0", noDelay)
				}
				if err = errors.Join(err, failed); err != nil {
					t.Error(err)
				}
				return errOfTheProgram
			},
			Data: func(*aio.Conn[syscall.RawConn], []byte) error { return nil },
			Closed: func(c *aio.Conn[syscall.RawConn], reason error) {
				raw = c.State
				closed <- reason
			},
		}
		s := serveConns(t, h, aio.Server{Options: o})
		_, _ = s.tryDial()
		if err := closed.wait(t); err != errOfTheProgram {
			t.Errorf("closed with %v", err)
		}
		s.end()
		if err := raw.Control(func(uintptr) {}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
	})
}
