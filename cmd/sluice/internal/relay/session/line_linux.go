package session

import (
	"net"

	"golang.org/x/sys/unix"
)

// lineOf asks the kernel about a connection (TCP_INFO, tcp(7)).
func lineOf(conn net.Conn) (l Line) {
	raw, ok := rawOf(conn)
	if !ok {
		return Line{}
	}
	_ = raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			return
		}
		l = Line{Known: true, Received: int64(info.Bytes_received), Reorders: int64(info.Rcv_ooopack), Unacked: info.Unacked > 0}
	})
	return l
}

// sentOn asks the kernel about a connection (TCP_INFO, tcp(7)).
func sentOn(conn net.Conn) (acked int64, more, known bool) {
	raw, ok := rawOf(conn)
	if !ok {
		return 0, false, false
	}
	_ = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			acked, more, known = int64(info.Bytes_acked), info.Unacked > 0 || info.Notsent_bytes > 0, true
		}
	})
	return acked, more, known
}
