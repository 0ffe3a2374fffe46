//go:build unix

package aio_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

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

// Control holds no lock: its function uses the connection, and may end it. The descriptor stays
// open until it returns.
func TestControlUsesTheConnection(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		closed, returned := make(closings, 1), make(closings, 1)
		h := &aio.ConnHandler[int]{
			TLS:    config,
			Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
		}
		h.Data = func(c *aio.Conn[int], p []byte) error {
			raw, err := c.SyscallConn()
			if err != nil {
				return err
			}
			go func() {
				err := raw.Control(func(fd uintptr) {
					if c.LocalAddr() == nil || c.Queued() < 0 {
						t.Error("the connection has no address")
					}
					if _, err := c.Write([]byte("x")); err != nil {
						t.Error(err)
					}
					c.Close()
					closed.wait(t)
					if _, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TYPE); err != nil {
						t.Errorf("the descriptor: %v", err)
					}
				})
				returned <- err
			}()
			return nil
		}
		s := serveConns(t, h, aio.Server{Options: o})
		defer s.end()
		conn := s.dial()
		defer conn.Close()
		if _, err := io.WriteString(conn, "x"); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(atMost)); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); string(got) != "x" || err != nil {
			t.Errorf("the peer gets %q, %v", got, err)
		}
		if err := returned.wait(t); err != nil {
			t.Error(err)
		}
	})
}

// Clients of a Unix socket pass descriptors, which nothing asks for, and go on: what they say behind
// those is read.
func TestClientsThatPassDescriptors(t *testing.T) {
	for _, d := range driversHere(t) {
		goOn, got := make(chan struct{}), make(chan byte, 100)
		s := serveConns(t, &aio.ConnHandler[int]{Data: func(c *aio.Conn[int], p []byte) error {
			for _, b := range p {
				got <- b
			}
			<-goOn
			return nil
		}}, aio.Server{Options: aio.Options{Driver: d}}, unixListener(t))
		client := s.raw().(*net.UnixConn)
		say := func(text string, rights []byte) {
			if _, _, err := client.WriteMsgUnix([]byte(text), rights, nil); err != nil {
				t.Fatal(err)
			}
		}
		say("1", nil)
		heard := []byte{<-got}
		say("2", syscall.UnixRights(0)) // both come while the server is busy
		say("3", nil)
		close(goOn)
		for len(heard) < 3 {
			select {
			case b := <-got:
				heard = append(heard, b)
			case <-time.After(atMost):
				t.Fatalf("%v: %q was read, and no more", d, heard)
			}
		}
		client.Close()
		s.end()
	}
}
