//go:build unix

package sluice

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// rawSource reads from a connection's descriptor, inside the callback that the
// runtime's poller calls when there may be something to read. The block is
// taken there, and given back when there is nothing: a connection that waits
// holds none. The callback always tries to read before it asks to wait: the
// poller tells of an edge once, and it may have passed.
type rawSource struct {
	raw  syscall.RawConn
	conn io.Reader
	b    *BufReader
	try  func(fd uintptr) bool
	n    int
	room int
	err  error
}

func newRawSource(b *BufReader, r io.Reader, c syscall.Conn) source {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	s := &rawSource{raw: raw, conn: r, b: b}
	s.try = s.attempt
	return s
}

func (s *rawSource) attempt(fd uintptr) bool {
	p, err := s.b.room()
	if err != nil {
		s.n, s.err = 0, err
		return true
	}
	for {
		n, err := syscall.Read(int(fd), p)
		if err == syscall.EINTR {
			continue
		}
		if err == syscall.EAGAIN {
			s.b.idle()
			return false
		}
		s.n, s.room, s.err = n, len(p), err
		return true
	}
}

func (s *rawSource) fetch(b *BufReader) error {
	for {
		if err := s.raw.Read(s.try); err != nil {
			return s.opError(err)
		}
		switch {
		case s.n > 0:
			b.received(s.n, s.room)
			return nil
		case s.err == nil:
			return io.EOF
		case !errors.Is(s.err, ErrBudget):
			return s.opError(os.NewSyscallError("read", s.err))
		case b.slab.Valid() || b.queued() > 0:
			return s.err
		}
		// Waiting inside the callback would keep Close from returning.
		if err := b.awaitBudget(); err != nil {
			return err
		}
	}
}

// opError makes the error what the connection's own Read returns.
func (s *rawSource) opError(err error) error {
	op := &net.OpError{Op: "read", Err: err}
	var raw *net.OpError
	if errors.As(err, &raw) {
		*op = *raw
		op.Op = "read"
	}
	if c, ok := s.conn.(net.Conn); ok {
		op.Source, op.Addr = c.LocalAddr(), c.RemoteAddr()
		op.Net = op.Addr.Network()
	}
	return op
}

// alive returns an error when the connection was closed on this side.
func (s *rawSource) alive() error {
	if err := s.raw.Control(func(uintptr) {}); err != nil {
		return s.opError(err)
	}
	return nil
}

func (s *rawSource) reader() io.Reader { return s.conn }
func (s *rawSource) close()            { s.b = nil }
