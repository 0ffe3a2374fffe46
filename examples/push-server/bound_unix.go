//go:build unix

package main

import (
	"net"
	"syscall"
)

// bound makes the kernel hold about as many bytes for a client: for one that reads nothing it
// takes up to 4 MB on Linux, before anything waits in a queue of ours. Connections have it from
// their listener.
func bound(l net.Listener, bytes int) error {
	raw, err := l.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, bytes)
	})
	if err != nil {
		return err
	}
	return failed
}
