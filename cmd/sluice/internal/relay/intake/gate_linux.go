//go:build !386 && !s390x

package intake

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/internal/sys"
)

// A gate is what a loop waits at, and how it gets the events of its own epoll: another
// epoll with that one in it, which the runtime's poller reports. It can be shut: what comes
// while the loop pauses would wake the runtime each time.
//
// Its system calls wait for nothing, and the scheduler is not notified of them: that would
// wake the runtime's monitor thread for each frame of a lone publisher, which takes longer
// than reading it.
type gate struct {
	file   *os.File
	raw    syscall.RawConn
	inner  int
	shut   bool
	at     time.Time // the deadline that the file has; zero: not known
	pass   func(uintptr) bool
	events [eventsAtOnce]unix.EpollEvent
	n      int // of events, those that wait has brought
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
	if err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, inner, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
		unix.Close(fd)
		return os.NewSyscallError("epoll_ctl", err)
	}
	g.inner, g.file = inner, os.NewFile(uintptr(fd), "epoll")
	g.pass = func(uintptr) bool {
		g.n = g.look()
		return g.n > 0
	}
	if g.raw, err = g.file.SyscallConn(); err != nil {
		g.file.Close()
	}
	return err
}

// look fills events with what there is.
func (g *gate) look() int {
	n, err := sys.EpollWait(g.inner, g.events[:])
	if err != nil {
		return 0
	}
	return n
}

// next returns what wait has brought, or what there is now, borrowed until the next call
// or wait.
func (g *gate) next() []unix.EpollEvent {
	n := g.n
	if g.n = 0; n == 0 {
		n = g.look()
	}
	return g.events[:n]
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

// pause waits without the runtime being woken by what comes.
func (g *gate) pause(d time.Duration) {
	g.set(true)
	time.Sleep(d)
}

// wait returns when there is an event, at the deadline, or when it is interrupted.
func (g *gate) wait() {
	g.set(false)
	_ = g.raw.Read(g.pass)
}

func (g *gate) set(shut bool) {
	if g.shut == shut {
		return
	}
	g.shut = shut
	e := unix.EpollEvent{Events: unix.EPOLLIN}
	if shut {
		e.Events = 0
	}
	_ = g.raw.Control(func(fd uintptr) {
		_ = unix.EpollCtl(int(fd), unix.EPOLL_CTL_MOD, g.inner, &e)
	})
}

func (g *gate) close() { g.file.Close() }
