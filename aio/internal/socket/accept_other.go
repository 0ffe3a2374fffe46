//go:build darwin || netbsd || openbsd

package socket

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// accept holds the lock that keeps a new process from inheriting the descriptor
// before it is marked.
func accept(fd int) (int, unix.Sockaddr, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	n, from, err := unix.Accept(fd)
	if err != nil {
		return n, from, err
	}
	unix.CloseOnExec(n)
	if err := unix.SetNonblock(n, true); err != nil {
		_ = unix.Close(n)
		return -1, nil, err
	}
	return n, from, nil
}
