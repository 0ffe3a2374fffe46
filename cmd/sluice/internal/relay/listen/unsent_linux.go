package listen

import (
	"net"

	"golang.org/x/sys/unix"
)

// limitUnsent makes conn full from MaxUnsent bytes on that are not on their way
// (TCP_NOTSENT_LOWAT, tcp(7)). Without it the kernel takes up to 4 MB of an answer for a
// client that reads nothing. A listener of Go is one of MPTCP, from which connections
// do not inherit the option.
func limitUnsent(conn *net.TCPConn) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return // it is closed
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, MaxUnsent)
	})
}
