//go:build unix

package source

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/sluice-go/sluice/internal/sys"
)

const rawReads = true

// Raw reads from a connection's descriptor, inside the callback that the
// runtime's poller calls when there may be something to read. Memory is given
// back there when there is nothing, and taken again when there is: a
// connection that waits holds none. The callback always tries to read before
// it asks to wait: the poller reports an edge once, and it may have passed.
//
// The zero Raw is ready for use. It belongs to one goroutine at a time. It is
// part of what an idle connection costs.
type Raw struct {
	raw   syscall.RawConn // asked for by the first Read
	try   func(fd uintptr) bool
	mem   Memory
	room  []byte // where to read; empty after a wait for which it was given back
	n     int
	errno errno
	row   uint32 // of a Brief: reads since the latest wait; else plain
}

// errno is a syscall.Errno, why there are no bytes; again stands for ErrAgain.
type errno uint32

const again = ^errno(0)

// quiet is of how many reads after a wait of a Brief the scheduler is not notified: one
// that always finds bytes is preempted, too.
const quiet = 8

// plain stands for a connection whose every read is notified.
const plain = ^uint32(0)

// Reset makes the next Read ask for the descriptor of another connection.
func (s *Raw) Reset() { s.raw = nil }

// Read reads what there is from conn, the same until Reset, into room or what
// m has after a wait, at least one byte. It returns how many bytes came and for
// how much room. Errors are those of the connection's own Read, and ErrAgain.
// The first Read allocates.
func (s *Raw) Read(conn io.Reader, room []byte, m Memory) (n, offered int, err error) {
	if s.raw == nil {
		if s.raw, err = Descriptor(conn).SyscallConn(); err != nil {
			return 0, 0, opError(conn, err)
		}
		s.row = plain
		if _, ok := s.raw.(Brief); ok && !sys.Race { // the race detector knows notified reads only
			s.row = 0
		}
		if s.try == nil {
			s.try = s.attempt
		}
	}
	if c, ok := s.raw.(Immediate); ok {
		if n, now, err := c.ReadNow(room); now {
			return n, len(room), err
		}
	}
	s.room, s.mem = room, m
	err = s.raw.Read(s.try)
	offered = len(s.room)
	s.room, s.mem = nil, nil
	switch {
	case err != nil:
		return 0, 0, opError(conn, err)
	case s.errno == again:
		return 0, 0, ErrAgain
	case s.errno != 0:
		return 0, 0, opError(conn, os.NewSyscallError("read", syscall.Errno(s.errno)))
	case s.n == 0:
		return 0, 0, io.EOF
	}
	return s.n, offered, nil
}

func (s *Raw) attempt(fd uintptr) bool {
	if len(s.room) == 0 {
		if s.room = s.mem.Take(); len(s.room) == 0 {
			s.n, s.errno = 0, again
			return true
		}
	}
	for {
		n, err := s.read(int(fd))
		s.n, s.errno = n, 0
		if err == nil {
			return true
		}
		no, _ := err.(syscall.Errno)
		s.errno = errno(no)
		switch no {
		case syscall.EINTR:
		case syscall.EAGAIN:
			if s.row != plain {
				s.row = 0
			}
			s.room = nil
			s.mem.Drop()
			return false
		default:
			return true
		}
	}
}

// read is one read of the descriptor.
func (s *Raw) read(fd int) (n int, err error) {
	if s.row < quiet {
		s.row++
		if n, err = sys.Recv(fd, s.room); err != syscall.ENOTSOCK {
			return n, err
		}
		s.row = plain
	}
	return syscall.Read(fd, s.room)
}

// opError makes the error what the connection's own Read returns.
func opError(conn io.Reader, err error) error {
	op := &net.OpError{Op: "read", Err: err}
	var raw *net.OpError
	if errors.As(err, &raw) {
		*op = *raw
		op.Op = "read"
	}
	if c, ok := conn.(net.Conn); ok {
		op.Source, op.Addr = c.LocalAddr(), c.RemoteAddr()
		// A socket that was never connected has no address at the other end.
		if op.Addr != nil {
			op.Net = op.Addr.Network()
		}
	}
	return op
}
