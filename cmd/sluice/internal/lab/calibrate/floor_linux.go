package calibrate

import (
	"errors"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab/load"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab/rawio"
)

// A floor is the least that a server can do with epoll: one thread, one buffer,
// and for each message a recv and a send.
type floor struct {
	ep       int
	listener int
	protocol load.Protocol
	conns    map[int]*floorConn
	buf      []byte
}

type floorConn struct {
	answerer
	unsent []byte // its send buffer was full; nothing is read meanwhile
}

// floorBuffer holds many short messages, and much of a long one.
const floorBuffer = 128 << 10

// serveFloor answers the connections of a listener until something fails.
func serveFloor(l *net.TCPListener, protocol load.Protocol) error {
	// A duplicate: the listener's own descriptor is in the runtime's poller.
	file, err := l.File()
	if err != nil {
		return err
	}
	defer file.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	defer unix.Close(ep)
	f := &floor{ep: ep, listener: int(file.Fd()), protocol: protocol, conns: map[int]*floorConn{}, buf: make([]byte, floorBuffer)}
	// Fd has made it wait, and the listener with it, which is the same to the
	// kernel.
	if err := unix.SetNonblock(f.listener, true); err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	if err := rawio.Watch(ep, f.listener, f.listener); err != nil {
		return os.NewSyscallError("epoll_ctl", err)
	}
	return f.loop()
}

func (f *floor) loop() error {
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
			if c := f.conns[fd]; c != nil && !f.serve(fd, c, events[i].Events) {
				unix.Close(fd) // and out of the epoll with it
				delete(f.conns, fd)
			}
		}
	}
}

func (f *floor) accept() error {
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
		f.conns[fd] = &floorConn{answerer: newAnswerer(f.protocol)}
		if err := errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1), rawio.Watch(f.ep, fd, fd)); err != nil {
			unix.Close(fd)
			delete(f.conns, fd)
		}
	}
}

// serve does what the events of a connection allow, and tells whether it goes on.
func (f *floor) serve(fd int, c *floorConn, events uint32) bool {
	if rest := c.unsent; rest != nil {
		c.unsent = nil
		if !c.send(fd, rest) {
			return false
		}
	}
	for c.unsent == nil {
		n, errno := rawio.Recv(fd, f.buf)
		switch {
		case errno == unix.EAGAIN:
			return true
		case errno != 0 || n == 0:
			return false
		case !c.send(fd, c.answer(f.buf[:n])):
			return false
		case n < len(f.buf) && events&rawio.Over == 0:
			return true
		}
	}
	return true
}

// send keeps a copy of what the socket does not take.
func (c *floorConn) send(fd int, p []byte) bool {
	for len(p) > 0 {
		n, errno := rawio.Send(fd, p)
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
