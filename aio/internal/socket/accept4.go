//go:build freebsd || dragonfly

package socket

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

func accept(fd int) (int, netip.AddrPort, error) {
	n, from, err := unix.Accept4(fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	return n, addrPort(from), err
}
