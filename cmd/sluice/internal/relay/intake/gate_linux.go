//go:build !386 && !s390x

package intake

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A gate is what a loop waits at: an epoll with the loop's own in it, which the runtime's
// poller reports. It is open for one event at a time, during wait. The loop's own epoll
// there would wake the runtime for everything that comes while the loop pauses.
type gate struct {
	file  *os.File
	raw   syscall.RawConn
	inner int
	at    time.Time // the deadline that the file has; zero: not known
	pass  func(fd uintptr) bool
	event [1]unix.EpollEvent
}

func (g *gate) open(inner int) error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	// Non-blocking, or the runtime's poller would not take it.
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return os.NewSyscallError("fcntl", err)
	}
	if err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, inner, &unix.EpollEvent{}); err != nil {
		unix.Close(fd)
		return os.NewSyscallError("epoll_ctl", err)
	}
	g.inner, g.file = inner, os.NewFile(uintptr(fd), "epoll")
	g.pass = func(fd uintptr) bool {
		n, err := unix.EpollWait(int(fd), g.event[:], 0)
		return n > 0 || err != nil && err != unix.EINTR
	}
	if g.raw, err = g.file.SyscallConn(); err != nil {
		g.file.Close()
	}
	return err
}

// until sets how long wait waits.
func (g *gate) until(at time.Time) {
	if !at.Equal(g.at) {
		g.at = at
		g.file.SetReadDeadline(at)
	}
}

// interrupt ends wait. Callers of it and of until exclude one another.
func (g *gate) interrupt() {
	g.at = time.Time{}
	g.file.SetReadDeadline(time.Unix(1, 0))
}

// wait returns when there is an event, at the deadline, or when it is interrupted.
func (g *gate) wait() {
	_ = g.raw.Control(func(fd uintptr) {
		_ = unix.EpollCtl(int(fd), unix.EPOLL_CTL_MOD, g.inner, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT})
	})
	_ = g.raw.Read(g.pass)
}

func (g *gate) close() { g.file.Close() }
