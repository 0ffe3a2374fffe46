package aio_test

import (
	"crypto/tls"
	"net"
	"testing"

	"github.com/sluice-go/sluice/aio"
)

// What the comments of Closed, RemoteAddr and LocalAddr promise of addresses after the end.
func TestAddressesInClosed(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		type ends struct{ local, remote net.Addr }
		opened, closed := make(chan ends, 1), make(chan ends, 1)
		s := serveConns(t, &aio.ConnHandler[int]{
			TLS: config,
			Open: func(c *aio.Conn[int]) error {
				opened <- ends{c.LocalAddr(), c.RemoteAddr()}
				return nil
			},
			Data:   func(*aio.Conn[int], []byte) error { return nil },
			Closed: func(c *aio.Conn[int], _ error) { closed <- ends{c.LocalAddr(), c.RemoteAddr()} },
		}, aio.Server{Options: o})
		client := s.dial()
		local, remote := client.RemoteAddr().String(), client.LocalAddr().String()
		if e := <-opened; e.local.String() != local || e.remote.String() != remote {
			t.Errorf("in Open: %v and %v, want %v and %v", e.local, e.remote, local, remote)
		}
		client.Close()
		e := <-closed
		if e.remote.String() != remote {
			t.Errorf("in Closed: the peer is %v, want %v", e.remote, remote)
		}
		if e.local == nil || e.local.Network() != "tcp" {
			t.Errorf("in Closed: this end is %v", e.local)
		}
		s.end()
	})
}
