package aio

import (
	"io"
	"net"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/aio/internal/tlsfed"
	"github.com/sluice-go/sluice/mem"
)

// secure is the TLS of a connection.
type secure[S any] struct {
	conn    *Conn[S]
	session *tlsfed.Session
	records Frames
	until   time.Time // of the handshake
	full    bool      // the handshake has to use up what has come, first
	early   bool      // the read that is under way has the handshake's deadline
}

func newSecure[S any](c *Conn[S]) *secure[S] {
	h := c.handler
	limit := h.HandshakeTimeout
	if limit == 0 {
		limit = DefaultHandshakeTimeout
	}
	s := &secure[S]{conn: c, until: deadline(limit)}
	s.records = Frames{Size: tlsfed.RecordSize, Limit: tlsfed.MaxRecord, Allocator: c.watcher.memory}
	s.session = tlsfed.New(h.TLS, s, c.watcher.memory, &h.handshakes)
	return s
}

// received feeds the session with p, borrowed.
func (s *secure[S]) received(p []byte) error {
	err := s.records.Add(p, s.record)
	if s.full {
		s.conn.pending = true // until it is woken
	}
	return err
}

// record feeds the session with a whole record, borrowed.
func (s *secure[S]) record(p []byte) error {
	if s.conn.opened && s.conn.paused {
		return s.session.Keep(p)
	}
	more, err := s.session.Record(p)
	s.full = !more && err == nil
	if err != nil || !s.conn.opened {
		return err
	}
	return s.deliver(len(p))
}

// deliver calls Data or Buf while the session has decrypted bytes. most is how many to
// expect, for the size of a Buf.
func (s *secure[S]) deliver(most int) error {
	c := s.conn
	for c.phase == serves {
		if c.handler.Buf == nil {
			n, err := s.session.Read(c.watcher.plainRoom())
			if n > 0 {
				if err := c.handler.Data(c, c.watcher.plain[:n]); err != nil {
					return err
				}
			}
			if err != nil {
				return forNow(err)
			}
			continue
		}
		slab := c.watcher.memory.Slab(min(most, mostPlain))
		n, err := s.session.Read(slab.Bytes())
		if n > 0 {
			b := slab.Cut(0, n)
			b.Compact()
			slab.Release()
			if err := c.handler.Buf(c, b); err != nil { //sluice:moved
				return err
			}
		} else {
			slab.Release()
		}
		if err != nil {
			return forNow(err)
		}
	}
	return nil
}

// forNow returns err, or nil when err says that there are no bytes yet.
func forNow(err error) error {
	if err == tlsfed.ErrNoBytes {
		return nil
	}
	return err
}

// mostPlain is the most bytes that one Data gets from a TLS connection: one record.
const mostPlain = 16 << 10

// ended handles the end of the stream by err. It returns the reason to close the
// connection, or nil to go on.
func (s *secure[S]) ended(err error) error {
	c := s.conn
	if err == ErrDeadline && c.opened && s.early {
		return nil // the handshake was in time
	}
	if err == io.EOF && s.records.Buffered() > 0 {
		err = io.ErrUnexpectedEOF
	}
	s.session.End(err)
	if err != io.EOF {
		return err
	}
	if c.opened && c.paused {
		return nil // resume handles it
	}
	if c.opened {
		if err := s.deliver(mostPlain); err != nil {
			return err
		}
		return io.EOF
	}
	if over, err := s.session.Handshake(); over && err != nil {
		return err
	}
	c.pending = true // until it is woken
	return nil
}

// handshake checks the state of the handshake, when it is over or needs more bytes.
func (c *Conn[S]) handshake() {
	s := c.secure
	if c.phase != serves || c.opened {
		return
	}
	over, err := s.session.Handshake()
	switch {
	case err != nil:
		c.finish(err)
		return
	case over:
		c.open()
		if !s.resume() {
			return
		}
	}
	if s.full {
		s.full, c.pending = false, false
	}
	c.proceed()
}

// resume delivers the bytes that came during a Pause. It returns false when the
// connection has ended.
func (s *secure[S]) resume() bool {
	c := s.conn
	if c.phase != serves || c.paused {
		return true
	}
	if err := s.deliver(mostPlain); err != nil {
		c.finish(err)
		return false
	}
	return true
}

// write is Conn.Write.
func (s *secure[S]) write(p []byte) (int, error) {
	n, err := s.session.Write(p)
	if err != nil {
		_ = s.conn.fail(err)
	}
	return n, err
}

// writeOne is WriteMany for this connection.
func (s *secure[S]) writeOne(p []byte, slow SlowPolicy) (one op.Spread) {
	if slow != SlowQueue && s.conn.Queued() > 0 {
		if slow == SlowSkip {
			one.Skipped++
		} else {
			one.Closed++
			_ = s.conn.fail(ErrQueueFull)
		}
		return one
	}
	switch _, err := s.write(p); {
	case err != nil:
		one.Failed++
	case s.conn.Queued() > 0:
		one.Queued++
	default:
		one.Written++
	}
	return one
}

// release gives the memory back.
func (s *secure[S]) release() {
	s.session.Close()
	s.records.Release()
}

// The methods of tlsfed.Output.

// WriteRecords sends p, borrowed.
func (s *secure[S]) WriteRecords(p []byte) error {
	return s.conn.submit(op.Request{Kind: op.WriteBytes, Buf: p, Lent: true, Quiet: true})
}

// WriteRecordBuf sends b, transferred.
func (s *secure[S]) WriteRecordBuf(b mem.Buf) error {
	return s.conn.submit(op.Request{Kind: op.WriteBuf, Single: b, Quiet: true}) //sluice:moved
}

// Wake posts a call of handshake.
func (s *secure[S]) Wake() {
	_ = s.conn.watcher.driver.Post((*woken[S])(s.conn), nil, nil)
}

// LocalAddr is the connection's.
func (s *secure[S]) LocalAddr() net.Addr { return s.conn.LocalAddr() }

// RemoteAddr is the connection's.
func (s *secure[S]) RemoteAddr() net.Addr { return s.conn.RemoteAddr() }
