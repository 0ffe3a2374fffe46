//go:build !linux || 386 || s390x

package intake

import (
	"errors"
	"net"
	"syscall"
)

// Loops are none here.
type Loops struct{}

// Start does nothing.
func (*Loops) Start() {}

// Take returns nil.
func (*Loops) Take(*net.TCPConn) *Conn { return nil }

// Close does nothing.
func (*Loops) Close() {}

// Conn is a connection that a loop can read. There are none here.
type Conn struct{ net.Conn }

// TCP is not called.
func (*Conn) TCP() *net.TCPConn { return nil }

// SyscallConn is not called.
func (*Conn) SyscallConn() (syscall.RawConn, error) { return nil, errors.ErrUnsupported }

// Serve is not called.
func (*Conn) Serve(Handler) error { return errors.ErrUnsupported }
