package live

import (
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// A link is a viewer's connection.
type link struct {
	conn  net.Conn
	raw   syscall.RawConn // of the socket, where there is one
	waits bool            // a write to it may block
	wire  *Wire           // below TLS that does not wait; nil: none
	// socket writes to raw and measures it: the loop's, or the viewer's own where
	// writes block.
	socket *socketWriter
}

func newLink(conn net.Conn) link {
	l := link{conn: conn}
	below := under(conn)
	switch c := below.(type) {
	case *net.TCPConn:
		l.raw, _ = c.SyscallConn()
	case *net.UnixConn:
		if a := c.LocalAddr(); a != nil && a.Network() == "unix" {
			l.raw, _ = c.SyscallConn()
		}
	}
	if direct && l.raw != nil {
		l.wire = wireOf(conn)
	}
	l.waits = l.raw == nil || below != conn && l.wire == nil || !direct
	return l
}

// under returns the connection below TLS and below wrappers that have NetConn as
// tls.Conn has: closing a viewer that takes nothing must not start with a TLS
// message to it.
func under(conn net.Conn) net.Conn {
	for {
		c, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return conn
		}
		conn = c.NetConn()
	}
}

// tlsRecord is the most that one record of TLS carries (RFC 8446, section 5.1).
const tlsRecord = 16 << 10

var scratch = sync.Pool{New: func() any { return new([tlsRecord]byte) }}

// sealStep is how many bytes of a stream TLS encrypts before it is seen whether the
// socket takes them. What is encrypted cannot be left out any more.
const sealStep = 2 * tlsRecord

// send sends at most so many bytes of parts, borrowed until it returns, without waiting.
// It returns how many were taken, fewer without an error when the socket is full. With
// TLS some of them may be kept.
func (l *link) send(parts [][]byte, most int) (done int, err error) {
	if l.wire == nil {
		return l.socket.send(l.raw, parts, most)
	}
	if _, left, err := l.wire.flush(l.socket, l.raw); left > 0 || err != nil {
		return 0, err
	}
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	for size = min(size, most); done < size; {
		l.wire.lend(l.socket)
		n, err := l.write(parts, done, min(size-done, sealStep))
		done += n
		_, left, failed := l.wire.flush(l.socket, l.raw)
		if err == nil {
			err = failed
		}
		if left > 0 || err != nil {
			return done, err
		}
	}
	return done, nil
}

// drain sends what is kept, and returns how many bytes that were, and are left.
func (l *link) drain() (n, left int, err error) {
	if l.wire == nil {
		return 0, 0, nil
	}
	return l.wire.flush(l.socket, l.raw)
}

// kept is how many bytes the loop has for the socket.
func (l *link) kept() int {
	if l.wire == nil {
		return 0
	}
	return l.wire.kept()
}

// unacked is how many bytes were given to the connection and not acknowledged by the peer, 0
// where that is not known. Any goroutine may call it.
func (l *link) unacked() int {
	if c, ok := l.conn.(interface{ Unacked() int }); ok {
		return c.Unacked()
	}
	return outstanding(l.raw) + l.kept()
}

// write writes at most so many bytes of the parts behind the first skip, and blocks until
// that is done or the deadline has passed, unless the connection is a Wire's. A Write, with
// TLS a record, for every few bytes of header would cost too much: small parts go out
// together.
func (l *link) write(parts [][]byte, skip, most int) (done int, err error) {
	var room *[tlsRecord]byte
	n := 0 // bytes in room
	for _, p := range parts {
		if skip >= len(p) {
			skip -= len(p)
			continue
		}
		p, skip = p[skip:], 0
		p = p[:min(len(p), most-done-n)]
		for len(p) > 0 && err == nil {
			k := len(p)
			if n == 0 && (k >= tlsRecord || len(parts) == 1) {
				k, err = l.put(p)
				done += k
				break
			}
			if room == nil {
				room = scratch.Get().(*[tlsRecord]byte)
				defer scratch.Put(room)
			}
			k = copy(room[n:], p)
			n += k
			p = p[k:]
			if n == tlsRecord {
				k, err = l.put(room[:n])
				done += k
				n = 0
			}
		}
		if err != nil {
			return done, err
		}
	}
	if n > 0 {
		n, err = l.put(room[:n])
		done += n
	}
	return done, err
}

// put is one Write. What a connection of the program's own type says of it is not trusted: it
// would tear the stream, or end the process from a goroutine that the program cannot recover in.
func (l *link) put(p []byte) (int, error) {
	n, err := l.conn.Write(p)
	switch {
	case n < 0 || n > len(p):
		return 0, fmt.Errorf("live: %T.Write of %d bytes returned %d", l.conn, len(p), n)
	case n < len(p) && err == nil:
		err = io.ErrShortWrite
	}
	return n, err
}

// linger is how long the peer has to close a connection after everything was sent.
const linger = 2 * time.Second

// hangUp closes the sending side first. If both sides were closed while received
// bytes are unread, the kernel would discard what is still on its way to the peer.
// A reader of the connection sees the peer's end, and after linger an error. The kernel
// gives the connection up when the peer acknowledges nothing for stall.
func (l *link) hangUp(stall time.Duration) {
	conn, raw := l.conn, l.raw
	c, ok := conn.(interface{ CloseWrite() error })
	if !ok || conn.SetReadDeadline(time.Now().Add(linger)) != nil {
		conn.Close()
		return
	}
	if c.CloseWrite() != nil {
		conn.Close()
		return
	}
	_, _, _ = l.drain() // the end of TLS
	time.AfterFunc(linger, func() {
		limitTime(raw, stall)
		conn.Close()
	})
}

// reset closes the connection so that the kernel lets go of what the peer has not taken.
func (l *link) reset() {
	dropQueue(l.raw)
	under(l.conn).Close()
}

// close closes the connection; the peer has stall to take what is left.
func (l *link) close(stall time.Duration) {
	limitTime(l.raw, stall)
	under(l.conn).Close()
}
