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
	raw   syscall.RawConn // asked for by the first Open
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

// Reset makes the next Open ask for the descriptor of another connection. A Read that waits,
// under which it is called by mistake, still has its Memory.
func (s *Raw) Reset() { s.raw = nil }

// Open makes s ready to read m's connection into m. The first time it allocates.
func (s *Raw) Open(m Memory) (err error) {
	s.mem = m
	if s.raw != nil {
		return nil
	}
	if s.raw, err = Descriptor(m.Conn()).SyscallConn(); err != nil {
		return s.opError(err)
	}
	s.row = plain
	if _, ok := s.raw.(Brief); ok && !sys.Race { // the race detector knows notified reads only
		s.row = 0
	}
	if s.try == nil {
		s.try = s.attempts()
	}
	return nil
}

// Offer says where the next Read puts bytes, borrowed until that returns.
func (s *Raw) Offer(room []byte) { s.room = room }

// Read reads what there is, after Open, into what was offered or what its Memory
// has after a wait, at least one byte. It returns how many bytes came and for how
// much room. Errors are those of the connection's own Read, and ErrAgain.
func (s *Raw) Read() (n, offered int, err error) {
	if c, ok := s.raw.(Immediate); ok {
		if n, now, err := c.ReadNow(s.room); now {
			offered, s.room = len(s.room), nil
			return n, offered, err
		}
	}
	err = s.raw.Read(s.try)
	offered = len(s.room)
	s.room = nil
	switch {
	case err != nil:
		return 0, 0, s.opError(err)
	case s.errno == again:
		return 0, 0, ErrAgain
	case s.errno != 0:
		return 0, 0, s.opError(os.NewSyscallError("read", syscall.Errno(s.errno)))
	case s.n == 0:
		return 0, 0, io.EOF
	}
	return s.n, offered, nil
}

// attempts returns what RawConn.Read calls: a function of its own, not a method's value,
// which would take a frame more of the stack.
func (s *Raw) attempts() func(fd uintptr) bool {
	return func(fd uintptr) bool {
		if len(s.room) == 0 {
			if s.room = s.mem.Take(); len(s.room) == 0 {
				s.n, s.errno = 0, again
				return true
			}
		}
		for {
			n, no := s.read(int(fd))
			s.n, s.errno = n, errno(no)
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
}

// read is one read of the descriptor.
func (s *Raw) read(fd int) (n int, no syscall.Errno) {
	if s.row < quiet {
		s.row++
		n, err := sys.Recv(fd, s.room)
		if no, _ = err.(syscall.Errno); no != syscall.ENOTSOCK {
			return n, no
		}
		s.row = plain
	}
	return sys.Read(fd, s.room)
}

// opError makes the error what the connection's own Read returns.
func (s *Raw) opError(err error) error {
	conn := s.mem.Conn()
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
