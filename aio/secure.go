package aio

import (
	"io"
	"net"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/aio/internal/tlsfed"
	"github.com/sluice-go/sluice/mem"
)

// plainSide is the connection that a secure is the TLS of. Its methods are for the
// goroutine of the callbacks, except submit, held, writeFailed, postHandshake, LocalAddr and
// RemoteAddr.
type plainSide interface {
	submit(r op.Request) error
	writeFailed(err error) error // why Write fails
	postHandshake()
	isOpen() bool   // the handshake is over, and Open has been called
	isPaused() bool // by the program
	serving() bool  // it is not being closed
	keepsBufs() bool
	room() []byte // for what is decrypted, until plain returns
	plain(p []byte) error
	plainBuf(b mem.Buf) error
	held() int
	LocalAddr() net.Addr
	RemoteAddr() net.Addr
}

// secure is the TLS of a connection.
type secure struct {
	conn    plainSide
	memory  *mem.Allocator
	session *tlsfed.Session
	records Frames
	until   time.Time   // of the handshake
	limit   *time.Timer // ends it then, or nil: see limitHandshake
	full    bool        // the handshake has to use up what has come, first
	early   bool        // the read that is under way has the handshake's deadline
	idle    int         // what noteIdle knows of the part of a record, in bytes
}

// received feeds the session with p, borrowed. short says that there was no memory for it in the
// budget: read no more until there is.
func (s *secure) received(p []byte) (short bool, err error) {
	err = s.records.Add(p, s.record)
	s.noteIdle()
	short = s.session.Over() || s.records.over
	s.records.over = false
	return short && s.session.MayWait(), err
}

// noteIdle tells the budget what is held by the part of a record: it does not come back before the
// rest has come, and who waits for it must not wait for ever.
func (s *secure) noteIdle() {
	held := 0
	if s.records.kept.Valid() {
		held = s.records.kept.Len()
	}
	if held != s.idle {
		noteIdle(s.memory, held-s.idle)
		s.idle = held
	}
}

// record feeds the session with a whole record, borrowed.
func (s *secure) record(p []byte) error {
	open := s.conn.isOpen()
	if open && s.conn.isPaused() {
		return s.session.Keep(p)
	}
	more, err := s.session.Record(p)
	s.full = !more && err == nil
	if err != nil || !open {
		return err
	}
	return s.deliver(len(p))
}

// deliver hands on what the session has decrypted. most is how many bytes to expect,
// for the size of a Buf. After the peer's close_notify it returns errStreamEnd.
func (s *secure) deliver(most int) error {
	for s.conn.serving() && !s.conn.isPaused() {
		err, failed := s.deliverOne(most)
		switch {
		case failed != nil:
			return failed
		case err == nil:
		case err == tlsfed.ErrNoBytes:
			return nil
		case err == io.EOF:
			return errStreamEnd
		default:
			return err
		}
	}
	if !s.conn.serving() {
		return nil
	}
	return s.session.KeepRest()
}

// deliverOne returns the error of the session, and that of the program.
func (s *secure) deliverOne(most int) (err, failed error) {
	if !s.conn.keepsBufs() {
		p := s.conn.room()
		n, err := s.session.Read(p)
		if n > 0 {
			failed = s.conn.plain(p[:n])
		}
		return err, failed
	}
	slab := s.memory.Slab(min(most, mostPlain))
	n, err := s.session.Read(slab.Bytes())
	if n == 0 {
		slab.Release()
		return err, nil
	}
	b := slab.Cut(0, n)
	b.Compact()
	slab.Release()
	return err, s.conn.plainBuf(b) //sluice:moved
}

// mostPlain is the most bytes that one Data gets from a TLS connection: one record.
const mostPlain = 16 << 10

// ended handles the end of the stream by err. It returns the reason to close the
// connection, errStreamEnd, or nil to go on: when wait is set, after postHandshake.
func (s *secure) ended(err error) (reason error, wait bool) {
	open := s.conn.isOpen()
	if err == ErrDeadline && open && s.early {
		return nil, false // the handshake was in time
	}
	if err == io.EOF && s.records.Buffered() > 0 {
		err = io.ErrUnexpectedEOF
	}
	s.session.End(err)
	switch {
	case err != io.EOF:
		return err, false
	case open: // while it is paused nothing is delivered, but when it goes on
		return s.deliver(mostPlain), false
	}
	if over, err := s.session.Handshake(); over && err != nil {
		return err, false
	}
	return nil, true
}

// write is Conn.Write.
func (s *secure) write(p []byte) (int, error) {
	n, err := s.session.Write(p)
	if err != nil {
		err = s.conn.writeFailed(err)
	}
	return n, err
}

// release gives the memory back.
func (s *secure) release() {
	if s.limit != nil {
		s.limit.Stop()
	}
	s.session.Close()
	s.records.Release()
	s.noteIdle()
}

// The methods of tlsfed.Output.

// WriteRecords sends p, borrowed.
func (s *secure) WriteRecords(p []byte, beyond bool) error {
	return s.conn.submit(op.Request{Kind: op.WriteBytes, Buf: p, Lent: true, Quiet: true, Beyond: beyond})
}

// WriteRecordBuf sends b, transferred.
func (s *secure) WriteRecordBuf(b mem.Buf, beyond bool) error {
	return s.conn.submit(op.Request{Kind: op.WriteBuf, Single: b, Quiet: true, Beyond: beyond}) //sluice:moved
}

// Empty says that no writes wait.
func (s *secure) Empty() bool { return s.conn.held() == 0 }

// Wake has the handshake looked at soon.
func (s *secure) Wake() { s.conn.postHandshake() }

// LocalAddr is the connection's.
func (s *secure) LocalAddr() net.Addr { return s.conn.LocalAddr() }

// RemoteAddr is the connection's.
func (s *secure) RemoteAddr() net.Addr { return s.conn.RemoteAddr() }
