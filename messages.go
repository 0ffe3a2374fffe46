package sluice

import (
	"io"
	"net"

	"github.com/sluice-go/sluice/mem"
)

// messageRoom is the room for a message in bytes: UDP carries less than that.
const messageRoom = 64 << 10

// messages is a socket of messages as a stream. The system throws away what of a message the
// room for a read does not hold, so each is read whole, and the rest of it waits here.
type messages struct {
	net.Conn
	alloc *mem.Allocator
	block mem.Slab // valid while something of it is left
	left  []byte   // of block
}

// messageSource returns r as a stream if it is a socket of messages.
func messageSource(r io.Reader, a *mem.Allocator) io.Reader {
	// Only these very types: others that say "udp" are streams, as those of QUIC.
	switch c := r.(type) {
	case *net.UDPConn:
		return &messages{Conn: c, alloc: a}
	case *net.IPConn:
		return &messages{Conn: c, alloc: a}
	case *net.UnixConn:
		if at := c.LocalAddr(); at != nil && at.Network() != "unix" {
			return &messages{Conn: c, alloc: a}
		}
	}
	return r
}

// Read reads a message when nothing is left of the one before. Empty ones are passed over.
func (m *messages) Read(p []byte) (int, error) {
	if len(m.left) == 0 {
		if err := m.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, m.left)
	if m.left = m.left[n:]; len(m.left) == 0 {
		m.release()
	}
	return n, nil
}

// next brings a message. Its room is no reason to wait for the budget, which is notified that it
// does not come back before the peer sends.
func (m *messages) next() (err error) {
	m.block = m.alloc.Slab(messageRoom)
	room := m.block.Bytes()[:messageRoom]
	noteIdle(m.alloc, messageRoom)
	defer noteIdle(m.alloc, -messageRoom)
	n := 0
	for n == 0 && err == nil {
		n, err = m.Conn.Read(room)
	}
	if n == messageRoom && err == nil {
		err = &Error{op: "read of a message", limit: messageRoom - 1, got: messageRoom, Err: ErrTooLong}
	}
	if err != nil {
		m.release()
		return err
	}
	m.left = room[:n]
	return nil
}

// release gives the block back.
func (m *messages) release() {
	m.left = nil
	if m.block.Valid() {
		m.block.Release()
	}
}

// detach returns the socket, and appends what is left of its message to rest.
func (m *messages) detach(rest *mem.Memory) net.Conn {
	if len(m.left) > 0 {
		b := m.alloc.Get(len(m.left))
		copy(b.Bytes(), m.left)
		rest.Append(b)
	}
	return m.Conn
}
