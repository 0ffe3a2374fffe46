//go:build unix

package source

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

const rawReads = true

// Raw reads from a connection's descriptor, inside the callback that the
// runtime's poller calls when there may be something to read. Memory is given
// back there when there is nothing, and taken again when there is: a
// connection that waits holds none. The callback always tries to read before
// it asks to wait: the poller tells of an edge once, and it may have passed.
//
// The zero Raw is ready for Reset. It belongs to one goroutine at a time.
type Raw struct {
	conn io.Reader
	desc syscall.Conn
	raw  syscall.RawConn // asked for by the first Read
	try  func(fd uintptr) bool

	mem  Memory
	room []byte // where to read; empty after a wait for which it was given back
	n    int
	err  error
}

// Reset makes s read from conn, whose descriptor desc has. It allocates
// nothing; the first Read after it does.
func (s *Raw) Reset(conn io.Reader, desc syscall.Conn) {
	s.conn, s.desc, s.raw = conn, desc, nil
}

// Close forgets the connection, which it leaves open.
func (s *Raw) Close() { s.conn, s.desc, s.raw = nil, nil, nil }

// Conn returns what s reads from.
func (s *Raw) Conn() io.Reader { return s.conn }

// Read reads what there is, into room or what m has after a wait, at least one
// byte, and returns how many bytes came and for how much room. Errors are
// those of the connection's own Read, and ErrAgain.
func (s *Raw) Read(room []byte, m Memory) (n, offered int, err error) {
	if s.raw == nil {
		if s.raw, err = s.desc.SyscallConn(); err != nil {
			return 0, 0, s.opError(err)
		}
		if s.try == nil {
			s.try = s.attempt
		}
	}
	s.room, s.mem = room, m
	err = s.raw.Read(s.try)
	offered = len(s.room)
	s.room, s.mem = nil, nil
	switch {
	case err != nil:
		return 0, 0, s.opError(err)
	case s.err == ErrAgain:
		return 0, 0, ErrAgain
	case s.err != nil:
		return 0, 0, s.opError(os.NewSyscallError("read", s.err))
	case s.n == 0:
		return 0, 0, io.EOF
	}
	return s.n, offered, nil
}

func (s *Raw) attempt(fd uintptr) bool {
	if len(s.room) == 0 {
		if s.room = s.mem.Take(); len(s.room) == 0 {
			s.n, s.err = 0, ErrAgain
			return true
		}
	}
	for {
		s.n, s.err = syscall.Read(int(fd), s.room)
		switch s.err {
		case nil:
			return true
		case syscall.EINTR:
		case syscall.EAGAIN:
			s.room = nil
			s.mem.Drop()
			return false
		default:
			return true
		}
	}
}

// opError makes the error what the connection's own Read returns.
func (s *Raw) opError(err error) error {
	op := &net.OpError{Op: "read", Err: err}
	var raw *net.OpError
	if errors.As(err, &raw) {
		*op = *raw
		op.Op = "read"
	}
	if c, ok := s.conn.(net.Conn); ok {
		op.Source, op.Addr = c.LocalAddr(), c.RemoteAddr()
		// A socket that was never connected has no address at the other end.
		if op.Addr != nil {
			op.Net = op.Addr.Network()
		}
	}
	return op
}
