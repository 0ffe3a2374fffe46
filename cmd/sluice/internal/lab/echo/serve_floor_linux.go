package echo

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab/rawio"
)

// A floor is the least that a server can do with epoll: one thread, one buffer,
// and for each message a recv and a send.
type floor struct {
	ep       int
	listener int
	unsent   map[int][]byte // of connections whose send buffer is full
	buf      []byte
	census   *Census
}

func serveFloor(l *net.TCPListener, size int, census *Census) error {
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
	// A read that fills the buffer has to be followed by another one, so the
	// buffer is longer than what comes at once.
	f := &floor{ep: ep, listener: int(file.Fd()), unsent: map[int][]byte{}, buf: make([]byte, 2*buffer(size)), census: census}
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
			if !f.echo(fd, events[i].Events) {
				unix.Close(fd) // and out of the epoll with it
				delete(f.unsent, fd)
				f.census.Closed()
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
		f.census.Opened()
		if err := errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1), rawio.Watch(f.ep, fd, fd)); err != nil {
			return fmt.Errorf("echo: an accepted connection: %w", err)
		}
	}
}

// echo does what the events of a connection allow, and tells whether it goes on.
func (f *floor) echo(fd int, events uint32) bool {
	if len(f.unsent) > 0 {
		if rest, waits := f.unsent[fd]; waits {
			delete(f.unsent, fd)
			if !f.send(fd, rest) {
				return false
			}
		}
	}
	for f.unsent[fd] == nil {
		n, errno := rawio.Recv(fd, f.buf)
		switch {
		case errno == unix.EAGAIN:
			return true
		case errno != 0 || n == 0:
			return false
		case !f.send(fd, f.buf[:n]):
			return false
		case n < len(f.buf) && events&rawio.Over == 0:
			return true
		}
	}
	return true
}

// send keeps what the socket does not take.
func (f *floor) send(fd int, p []byte) bool {
	for len(p) > 0 {
		n, errno := rawio.Send(fd, p)
		if errno == unix.EAGAIN {
			f.unsent[fd] = append([]byte(nil), p...)
			return true
		}
		if errno != 0 {
			return false
		}
		p = p[n:]
	}
	return true
}
