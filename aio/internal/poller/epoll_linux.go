package poller

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/internal/sys"
)

// Name is the system call interface that reports readiness here.
const Name = "epoll"

// eventsAtOnce is how many connections one call reports. More are reported by
// the next. What is read in one batch is written in the next step, so a small
// batch finds it in the processor's cache, and the peers have something to do
// meanwhile: an echo costs a twentieth less with 64 than with 512.
const eventsAtOnce = 64

// queue is epoll(7), edge-triggered. See docs/library/aio.md for what the
// driver relies on.
type queue struct {
	fd     int
	events [eventsAtOnce]unix.EpollEvent
}

// open makes the descriptor. The file owns it.
func (q *queue) open() (*os.File, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	// Non-blocking, so that package os hands it to Go's own poller.
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	q.fd = fd
	return os.NewFile(uintptr(fd), "epoll"), nil
}

// Add watches fd for reading. When it is readable already, that is an event.
func (q *queue) Add(fd int, gen uint32) error {
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLPRI | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(fd), Pad: int32(gen)}
	return unix.EpollCtl(q.fd, unix.EPOLL_CTL_ADD, fd, &e)
}

// WatchWrites watches fd for writing as well. What it is ready for at this
// moment is an event.
func (q *queue) WatchWrites(fd int, gen uint32) error {
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLPRI | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(fd), Pad: int32(gen)}
	return unix.EpollCtl(q.fd, unix.EPOLL_CTL_MOD, fd, &e)
}

// Remove ends the watch of fd.
func (q *queue) Remove(fd int) error {
	return unix.EpollCtl(q.fd, unix.EPOLL_CTL_DEL, fd, nil)
}

// Poll returns how many events there are, without waiting.
func (q *queue) Poll() (int, error) {
	for {
		n, err := sys.EpollWait(q.fd, q.events[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, os.NewSyscallError("epoll_wait", err)
		}
		return n, nil
	}
}

// Event returns the i-th event of the last Poll.
func (q *queue) Event(i int) (fd int, gen uint32, what Bits) {
	e := &q.events[i]
	if e.Events&(unix.EPOLLIN|unix.EPOLLPRI|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		what |= Readable
	}
	if e.Events&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		what |= Writable
	}
	if e.Events&(unix.EPOLLPRI|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		what |= Unsure
	}
	return int(e.Fd), uint32(e.Pad), what
}
