package session

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// unread is how many bytes the kernel has received for a connection that were not
// read from it (SIOCINQ, tcp(7)).
func unread(conn net.Conn) (n int) {
	raw, ok := rawOf(conn)
	if !ok {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.SIOCINQ) })
	return max(n, 0)
}

// rawOf returns the socket below a connection's TLS and wrappers.
func rawOf(conn net.Conn) (raw syscall.RawConn, ok bool) {
	for {
		c, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		conn = c.NetConn()
	}
	c, ok := conn.(syscall.Conn)
	if !ok {
		return nil, false
	}
	raw, err := c.SyscallConn()
	return raw, err == nil
}
