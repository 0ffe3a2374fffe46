//go:build linux || freebsd

package aio

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// spreads says that the system spreads connections among listeners that share
// their address.
const spreads = true

// shareAddress is called between socket and bind: set later, the option has no
// effect.
func shareAddress(_, _ string, c syscall.RawConn) error {
	var err error
	if controlErr := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, spreadOption, 1)
	}); controlErr != nil {
		return controlErr
	}
	return os.NewSyscallError("setsockopt", err)
}
