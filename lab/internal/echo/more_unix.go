//go:build unix

package echo

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// more reports whether a connection has something to read now. The
// zero more says no.
type more struct {
	raw syscall.RawConn
	ask *ask
}

// ask is the question and its answer, allocated once.
type ask struct {
	poll func(fd uintptr)
	fds  [1]unix.PollFd
	yes  bool
}

func newMore(c net.Conn) more {
	s, ok := c.(syscall.Conn)
	if !ok {
		return more{}
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return more{}
	}
	a := new(ask)
	a.poll = func(fd uintptr) {
		a.fds[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
		n, err := unix.Poll(a.fds[:], 0)
		a.yes = err == nil && n > 0
	}
	return more{raw, a}
}

// waits reports whether a read would return at once, also with the end of the
// stream or an error.
func (m more) waits() bool {
	return m.raw != nil && m.raw.Control(m.ask.poll) == nil && m.ask.yes
}
