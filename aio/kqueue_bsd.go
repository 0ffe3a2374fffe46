//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package aio

import (
	"os"

	"golang.org/x/sys/unix"
)

// systemPoller is what this system tells readiness with.
const systemPoller = Kqueue

// eventsAtOnce is how many events one call reports; more come with the next.
const eventsAtOnce = 512

// poller is kqueue(2), edge-triggered by EV_CLEAR. It compiles, and is
// experimental until it has been run on each of these systems.
type poller struct {
	fd     int
	events [eventsAtOnce]unix.Kevent_t
	gens   map[int]uint32 // by descriptor: a kevent has no room for a number here
}

// open makes the descriptor. The file owns it.
func (p *poller) open() (*os.File, error) {
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
	p.fd = fd
	return os.NewFile(uintptr(fd), "kqueue"), nil
}

// add watches fd for reading. When it is readable already, that is an event.
func (p *poller) add(poller, fd int, gen uint32) error {
	if p.gens == nil {
		p.gens = make(map[int]uint32)
	}
	if err := change(poller, fd, unix.EVFILT_READ, unix.EV_ADD|unix.EV_CLEAR); err != nil {
		return err
	}
	p.gens[fd] = gen
	return nil
}

// watchWrites watches fd for writing as well. When it is writable at this
// moment, that is an event.
func (p *poller) watchWrites(poller, fd int, _ uint32) error {
	return change(poller, fd, unix.EVFILT_WRITE, unix.EV_ADD|unix.EV_CLEAR)
}

func (p *poller) remove(poller, fd int) error {
	delete(p.gens, fd)
	// That it was not watched for writing is no error.
	_ = change(poller, fd, unix.EVFILT_WRITE, unix.EV_DELETE)
	return change(poller, fd, unix.EVFILT_READ, unix.EV_DELETE)
}

func change(poller, fd, filter, flags int) error {
	var k [1]unix.Kevent_t
	unix.SetKevent(&k[0], fd, filter, flags)
	_, err := unix.Kevent(poller, k[:], nil, nil)
	return err
}

// poll returns how many events there are, without waiting.
func (p *poller) poll(poller int) (int, error) {
	for {
		n, err := unix.Kevent(poller, nil, p.events[:], &unix.Timespec{})
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, os.NewSyscallError("kevent", err)
		}
		return n, nil
	}
}

// event returns the i-th event of the last poll.
func (p *poller) event(i int) (fd int, gen uint32, what readyBits) {
	k := &p.events[i]
	fd = int(k.Ident)
	if k.Filter == unix.EVFILT_WRITE {
		what = canWrite
	} else {
		what = canRead
	}
	if k.Flags&unix.EV_EOF != 0 {
		what |= unsure
	}
	return fd, p.gens[fd], what
}
