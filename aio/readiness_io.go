//go:build unix && !aix && !solaris && !illumos

package aio

import (
	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/internal/sys"
)

// read reads once. The descriptor is nearly always a socket, and need not be.
func (c *conn) read(p []byte) (int, error) {
	if c.socket {
		return sys.Recv(int(c.fd), p)
	}
	return unix.Read(int(c.fd), p)
}

// write writes once.
func (c *conn) write(p []byte) (int, error) {
	if c.socket {
		return sys.Send(int(c.fd), p)
	}
	return unix.Write(int(c.fd), p)
}
