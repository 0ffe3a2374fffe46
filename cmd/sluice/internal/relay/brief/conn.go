// Package brief makes connections cheap to read whose goroutines never work for long.
package brief

import (
	"net"
	"syscall"
)

// Conn returns conn, transferred, in a form that a sluice.BufReader reads without notifying
// the runtime's scheduler; a connection that is not a *net.TCPConn itself is
// returned as it is. For frames that come one by one that takes a quarter of a server's
// processor time less. The goroutine that reads waits again within a millisecond or so: it
// is not preempted before the tenth read that found bytes.
func Conn(conn net.Conn) net.Conn {
	if c, ok := conn.(*net.TCPConn); ok {
		return tcp{c}
	}
	return conn
}

// tcp reads as what it embeds does, from the descriptor that source.Brief says.
type tcp struct{ *net.TCPConn }

// RawRead makes a sluice.BufReader read from the descriptor.
func (c tcp) RawRead() syscall.Conn { return c }

// SyscallConn returns access to the descriptor.
func (c tcp) SyscallConn() (syscall.RawConn, error) {
	raw, err := c.TCPConn.SyscallConn()
	return descriptor{raw}, err
}

type descriptor struct{ syscall.RawConn }

// Brief is what package source of the library asks for.
func (descriptor) Brief() {}
