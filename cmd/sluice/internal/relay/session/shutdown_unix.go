//go:build unix

package session

import "syscall"

// shutDown ends a connection for all processes that have it.
func shutDown(c syscall.Conn) {
	raw, err := c.SyscallConn()
	if err != nil {
		return // it is closed
	}
	_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) })
}
