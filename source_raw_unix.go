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
// runtime's poller calls when there may be something to read. A block is given
// back there when there is nothing, and taken again when there is: a
// connection that waits holds none. The callback always tries to read before
// it asks to wait: the poller tells of an edge once, and it may have passed.
//
// What happens in the callback is kept short for the sake of the stack, which
// is then at its deepest: 2 KiB suffice, and a goroutine that has outgrown
// them keeps 4.
type rawSource struct {
	raw  syscall.RawConn
	conn io.Reader
	b    *BufReader
	try  func(fd uintptr) bool
	room []byte // where to read; empty after a wait for which the block was given back
	size int    // of the block to take after such a wait
	n    int
	err  error
}

// errAgain sends the callback's caller round once more: what the callback
// needs takes more stack than it may.
var errAgain = errors.New("again")

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
	if len(s.room) == 0 && !s.take() {
		s.n, s.err = 0, errAgain
		return true
	}
	for {
		s.n, s.err = syscall.Read(int(fd), s.room)
		switch s.err {
		case syscall.EINTR:
		case syscall.EAGAIN:
			s.wait()
			return false
		default:
			return true
		}
	}
}

// take gets room after a wait without a block.
func (s *rawSource) take() bool {
	b := s.b
	if s.size == 0 {
		return false
	}
	slab, ok := b.alloc.CachedSlab(s.size)
	if !ok {
		return false
	}
	b.slab, b.owned = slab, true
	b.buf = slab.Bytes()
	if b.size.pinned > 0 {
		b.buf = b.buf[:s.size]
	}
	s.room = b.buf
	return true
}

// wait gives memory back before the poller waits.
func (s *rawSource) wait() {
	b := s.b
	if b.r == b.w && b.x == nil && b.mark < 0 && b.owned && !b.slab.Shared() {
		s.room, s.size = nil, max(b.need, b.size.want())
		b.forget()
		b.slab.Release()
		b.buf, b.owned = nil, false
		b.rebase(0, 0)
		return
	}
	s.room, s.size = nil, 0
	b.idle()
}

func (s *rawSource) fetch(b *BufReader) error {
	for {
		room, err := b.roomOrWait()
		if err != nil {
			return err
		}
		s.room = room
		err = s.raw.Read(s.try)
		room = s.room
		s.room = nil
		if err == nil && s.n > 0 {
			b.received(s.n, len(room))
			return nil
		}
		if err == nil && s.err == errAgain {
			continue
		}
		b.idle()
		switch {
		case err != nil:
			return s.opError(err)
		case s.err != nil:
			return s.opError(os.NewSyscallError("read", s.err))
		}
		return io.EOF
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
		// A socket that was never connected has no address at the other end.
		if op.Addr != nil {
			op.Net = op.Addr.Network()
		}
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
