package session

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// unread is how many bytes the kernel has received for a connection that were not
// read from it (SIOCINQ, tcp(7)).
func unread(conn net.Conn) (n int) {
	for {
		c, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		conn = c.NetConn() // below TLS and wrappers
	}
	c, ok := conn.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.SIOCINQ) })
	return max(n, 0)
}
