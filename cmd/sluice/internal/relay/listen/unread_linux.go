package listen

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Unread is how many bytes the kernel has received for a connection, of a socket and without
// TLS, that were not read from it (SIOCINQ, tcp(7)).
func Unread(conn net.Conn) (n int) {
	socket(conn, func(fd int) { n = inQueue(fd) })
	return n
}

// passed is Unread, how many bytes were read, and how many the peer has acknowledged (TCP_INFO,
// tcp(7)), which are 0 for what is no TCP.
func passed(conn net.Conn) (unread int, read, acked int64) {
	socket(conn, func(fd int) {
		unread = inQueue(fd)
		if info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			read, acked = int64(info.Bytes_received)-int64(unread), int64(info.Bytes_acked)
		}
	})
	return unread, read, acked
}

func inQueue(fd int) int {
	n, _ := unix.IoctlGetInt(fd, unix.SIOCINQ)
	return max(n, 0)
}

// socket calls f with the descriptor, unless conn has none or is closed.
func socket(conn net.Conn, f func(fd int)) {
	if c, ok := conn.(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { f(int(fd)) })
		}
	}
}
