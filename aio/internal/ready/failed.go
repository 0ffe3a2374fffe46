//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"net"
	"os"
	"syscall"
)

// failed returns err, of the kernel, as package net returns it, and other errors as they
// are. Called with c.mu.
func (c *conn) failed(verb string, name net.Conn, err error) error {
	if _, ok := err.(syscall.Errno); !ok {
		return err
	}
	e := &net.OpError{Op: verb, Err: os.NewSyscallError(verb, err)}
	switch name := name.(type) {
	case *own:
		e.Source, e.Addr = c.local(), name.far()
	case *net.TCPConn, *net.UnixConn, *net.UDPConn, *net.IPConn:
		e.Source, e.Addr = name.LocalAddr(), name.RemoteAddr()
	default: // its methods are the program's, and may want the lock
		if c.Stream {
			e.Source = c.local()
		}
	}
	if e.Source != nil {
		e.Net = e.Source.Network()
	}
	return e
}

// local returns the address of this end, or nil when there is none. Called with c.mu.
func (c *conn) local() net.Addr {
	a, err := c.Local()
	if err != nil {
		return nil
	}
	return a
}
