//go:build darwin || netbsd || openbsd

package socket

import (
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// accept holds the lock that keeps a new process from inheriting the descriptor
// before it is marked.
func accept(fd int) (int, netip.AddrPort, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	n, from, err := unix.Accept(fd)
	if err != nil {
		return n, netip.AddrPort{}, err
	}
	unix.CloseOnExec(n)
	if err := unix.SetNonblock(n, true); err != nil {
		_ = unix.Close(n)
		return -1, netip.AddrPort{}, err
	}
	return n, addrPort(from), nil
}
