package rawio

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// A Floor is the least that a server can do with epoll: one thread, one buffer,
// and for what comes together a recv and a send.
type Floor struct {
	// Buffer is how many bytes are read at once. A read that fills the buffer has
	// to be followed by another one: it should be longer than what comes at once.
	Buffer int
	// Open is called for each connection and returns what answers it: a function
	// that consumes p, borrowed, and returns the bytes to send back, borrowed until its
	// next call; they may be p itself.
	Open func() (answer func(p []byte) []byte)
	// Closed is called when a connection has ended. It may be nil.
	Closed func()

	ep, listener int
	conns        []*floorConn // by descriptor
	buf          []byte
}

// A floorConn is a connection.
type floorConn struct {
	answer func(p []byte) []byte
	unsent []byte // its send buffer was full; nothing is read meanwhile
}

// Serve serves the connections of a listener, borrowed, until something fails. The
// connections that there are then stay open: it is for processes that end.
func (f *Floor) Serve(l *net.TCPListener) error {
	// A duplicate: the listener's own descriptor is in the runtime's poller.
	file, err := l.File()
	if err != nil {
		return err
	}
	defer file.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if f.ep, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	defer unix.Close(f.ep)
	f.buf = make([]byte, f.Buffer)
	f.listener = int(file.Fd())
	// Fd has made it wait, and the listener with it, which is the same to the
	// kernel.
	if err := unix.SetNonblock(f.listener, true); err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	if err := Watch(f.ep, f.listener, f.listener); err != nil {
		return os.NewSyscallError("epoll_ctl", err)
	}
	return f.loop()
}

func (f *Floor) loop() error {
	events := make([]unix.EpollEvent, 1024)
	for {
		n, err := unix.EpollWait(f.ep, events, -1)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return os.NewSyscallError("epoll_wait", err)
		}
		for i := range events[:n] {
			fd := int(events[i].Fd)
			if fd == f.listener {
				if err := f.accept(); err != nil {
					return err
				}
				continue
			}
			if !f.serve(fd, f.conns[fd], events[i].Events) {
				unix.Close(fd) // and out of the epoll with it
				f.conns[fd] = nil
				if f.Closed != nil {
					f.Closed()
				}
			}
		}
	}
}

func (f *Floor) accept() error {
	for {
		fd, _, err := unix.Accept4(f.listener, unix.SOCK_CLOEXEC)
		switch {
		case err == unix.EAGAIN:
			return nil
		case err == unix.EINTR, err == unix.ECONNABORTED:
			continue
		case err != nil:
			return os.NewSyscallError("accept4", err)
		}
		if fd >= len(f.conns) {
			f.conns = append(f.conns, make([]*floorConn, fd+1-len(f.conns))...)
		}
		f.conns[fd] = &floorConn{answer: f.Open()}
		if err := errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1), Watch(f.ep, fd, fd)); err != nil {
			return fmt.Errorf("rawio: an accepted connection: %w", err)
		}
	}
}

// serve handles the events of a connection, and reports whether it stays open.
func (f *Floor) serve(fd int, c *floorConn, events uint32) bool {
	if rest := c.unsent; rest != nil {
		c.unsent = nil
		if !c.send(fd, rest) {
			return false
		}
	}
	for c.unsent == nil {
		n, errno := Recv(fd, f.buf)
		switch {
		case errno == unix.EAGAIN:
			return true
		case errno != 0 || n == 0:
			return false
		case !c.send(fd, c.answer(f.buf[:n])):
			return false
		case n < len(f.buf) && events&Over == 0:
			return true
		}
	}
	return true
}

// send keeps a copy of what the socket does not take.
func (c *floorConn) send(fd int, p []byte) bool {
	for len(p) > 0 {
		n, errno := Send(fd, p)
		if errno == unix.EAGAIN {
			c.unsent = append([]byte(nil), p...)
			return true
		}
		if errno != 0 {
			return false
		}
		p = p[n:]
	}
	return true
}
