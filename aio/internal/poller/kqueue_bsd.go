//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package poller

import (
	"os"

	"golang.org/x/sys/unix"
)

// Name is the system call interface that reports readiness here.
const Name = "kqueue"

// eventsAtOnce is how many events one call reports; more come with the next.
const eventsAtOnce = 512

// queue is kqueue(2), edge-triggered by EV_CLEAR. It compiles, and is
// experimental until it has been run on each of these systems.
type queue struct {
	fd     int
	events [eventsAtOnce]unix.Kevent_t
	gens   map[int]uint32 // by descriptor: a kevent has no room for a number here
}

// open makes the descriptor. The file owns it.
func (q *queue) open() (*os.File, error) {
	fd, err := unix.Kqueue()
	if err != nil {
		return nil, os.NewSyscallError("kqueue", err)
	}
	unix.CloseOnExec(fd)
	// Non-blocking, so that package os hands it to Go's own poller.
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	q.fd = fd
	return os.NewFile(uintptr(fd), "kqueue"), nil
}

// Add watches fd for reading. When it is readable already, that is an event.
func (q *queue) Add(fd int, gen uint32) error {
	if q.gens == nil {
		q.gens = make(map[int]uint32)
	}
	if err := change(q.fd, fd, unix.EVFILT_READ, unix.EV_ADD|unix.EV_CLEAR); err != nil {
		return err
	}
	q.gens[fd] = gen
	return nil
}

// WatchWrites watches fd for writing as well. When it is writable at this
// moment, that is an event.
func (q *queue) WatchWrites(fd int, _ uint32) error {
	return change(q.fd, fd, unix.EVFILT_WRITE, unix.EV_ADD|unix.EV_CLEAR)
}

// Remove ends the watch of fd.
func (q *queue) Remove(fd int) error {
	delete(q.gens, fd)
	// That it was not watched for writing is no error.
	_ = change(q.fd, fd, unix.EVFILT_WRITE, unix.EV_DELETE)
	return change(q.fd, fd, unix.EVFILT_READ, unix.EV_DELETE)
}

func change(kqueue, fd, filter, flags int) error {
	var k [1]unix.Kevent_t
	unix.SetKevent(&k[0], fd, filter, flags)
	_, err := unix.Kevent(kqueue, k[:], nil, nil)
	return err
}

// Poll returns how many events there are, without waiting.
func (q *queue) Poll() (int, error) {
	for {
		n, err := unix.Kevent(q.fd, nil, q.events[:], &unix.Timespec{})
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, os.NewSyscallError("kevent", err)
		}
		return n, nil
	}
}

// Event returns the i-th event of the last Poll.
func (q *queue) Event(i int) (fd int, gen uint32, what Bits) {
	k := &q.events[i]
	fd = int(k.Ident)
	if k.Filter == unix.EVFILT_WRITE {
		what = Writable
	} else {
		what = Readable
	}
	if k.Flags&unix.EV_EOF != 0 {
		what |= Unsure
	}
	return fd, q.gens[fd], what
}
