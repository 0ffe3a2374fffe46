package live

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// transmit sends parts, which are size bytes together, and returns how many
// went out. Over a socket it does not wait, and fewer without an error means
// that the socket is full. Other connections are waited for.
func (v *Viewer) transmit(parts [][]byte, size int) (int, error) {
	if !v.alone {
		return v.loop.socket.send(v.raw, parts)
	}
	if err := v.limit(); err != nil {
		return 0, err
	}
	done := 0
	if len(parts) > 2 {
		// A Write, with TLS a record, for every few bytes of header would cost
		// too much.
		buf := v.stream.options.Allocator.Get(size)
		defer buf.Release()
		p := buf.Bytes()
		for _, part := range parts {
			done += copy(p[done:], part)
		}
		return v.conn.Write(p)
	}
	for _, p := range parts {
		n, err := v.conn.Write(p)
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// limit sets the deadline for a write, unless v is to be closed.
func (v *Viewer) limit() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.asked.close != nil {
		return v.asked.close
	}
	return v.conn.SetWriteDeadline(time.Now().Add(v.writer.options.Stall))
}

// run sends to a viewer that has a goroutine of its own.
func (v *Viewer) run() {
	err := v.runUntil()
	if asked := v.take().close; asked != nil {
		err = asked // Close may have interrupted the write
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrStalled
	}
	v.finish(err)
	v.loop.ask(v)
}

func (v *Viewer) runUntil() error {
	v.slowDown() // a Write that waits does not say so
	for {
		if err := v.heed(); err != nil {
			return err
		}
		if err := v.advance(0); err != nil {
			return err
		}
		switch v.state {
		case ended:
			return ErrEnded
		case behind:
		case blocked:
			// Only an error can have cut it short.
			return ErrStalled
		default:
			<-v.kick
		}
	}
}

// linger is how long the peer has to close a connection after everything was sent.
const linger = 2 * time.Second

// finish closes v's connection and reports that. It does not change the loop's lists.
func (v *Viewer) finish(err error) {
	v.cursor.drop()
	evicted := err == ErrStalled || err == ErrSlow || err == ErrControl || err == ErrMemory
	switch {
	case err == ErrEnded:
		v.hangUp()
	case evicted:
		dropQueue(v.raw)
		under(v.conn).Close()
	default:
		limitTime(v.raw, v.writer.options.Stall)
		under(v.conn).Close()
	}
	s := v.stream
	s.sent.viewers.Add(-1)
	if evicted {
		s.sent.evicted.Add(1)
	}
	s.mu.Lock()
	v.arrive()
	s.mu.Unlock()
	s.release()
	v.writer.forget(v)
	v.err = err
	close(v.done)
	if f := v.options.OnClose; f != nil {
		go f(v, err)
	}
}

// hangUp closes the sending side first. If both sides were closed while received
// bytes are unread, the kernel would discard what is still on its way to the peer.
// A reader of the connection sees the peer's end, and after linger an error.
func (v *Viewer) hangUp() {
	c, ok := v.conn.(interface{ CloseWrite() error })
	if !ok || v.conn.SetReadDeadline(time.Now().Add(linger)) != nil {
		v.conn.Close()
		return
	}
	if c.CloseWrite() != nil {
		v.conn.Close()
		return
	}
	time.AfterFunc(linger, func() {
		limitTime(v.raw, v.writer.options.Stall)
		v.conn.Close()
	})
}

// scan looks for viewers that stall: they have not acknowledged a byte for too long
// although some are on their way. Bytes in the kernel's buffer count, which may be
// megabytes.
func (l *loop) scan(now time.Time) {
	for i := len(l.viewers) - 1; i >= 0; i-- {
		v := l.viewers[i]
		unsent, known := 0, false
		if v.raw != nil {
			unsent, known = l.socket.unsent(v.raw)
		}
		sent := v.figures.bytes.Load()
		acked := sent - int64(unsent)
		v.figures.queued.Store(int64(unsent))
		if known && !v.alone {
			l.judge(v, acked)
		}
		switch { // without a look at the state of one alone, which is its own
		case acked > v.acked:
			v.acked, v.ackedAt = acked, now
		case unsent == 0 && (v.alone && known || !v.alone && v.state != blocked):
			v.ackedAt = now
		case v.alone && !known:
			v.ackedAt = now // its write deadline sees to it
		case now.Sub(v.ackedAt) >= l.writer.options.Stall:
			if v.alone {
				v.Close(ErrStalled)
			} else {
				l.close(v, ErrStalled)
			}
		}
	}
}

// scanYoung looks at the lines of viewers who are new.
func (l *loop) scanYoung(now time.Time) {
	n := 0
	for _, v := range l.young {
		if v.state == gone || now.Sub(v.since) > youngTime {
			continue
		}
		if unsent, known := l.socket.unsent(v.raw); known {
			l.judge(v, v.figures.bytes.Load()-int64(unsent))
		}
		l.young[n] = v
		n++
	}
	clear(l.young[n:])
	l.young = l.young[:n]
}

// judge finds viewers whose line is slow although their sockets are not full: the
// network may hold that many bytes.
func (l *loop) judge(v *Viewer, acked int64) {
	age := v.trail.age(acked, v.stream.clock())
	switch most := l.writer.options.Lag; {
	case age > most/8:
		v.slowDown()
	case age < most/16 && v.state == steady:
		v.line.slow = false
	}
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

// socket returns the raw connection of conn where it has one, and whether conn
// has to be written to by a goroutine of its own.
func socket(conn net.Conn) (raw syscall.RawConn, alone bool) {
	below := under(conn)
	switch c := below.(type) {
	case *net.TCPConn:
		raw, _ = c.SyscallConn()
	case *net.UnixConn:
		if a := c.LocalAddr(); a != nil && a.Network() == "unix" {
			raw, _ = c.SyscallConn()
		}
	}
	return raw, raw == nil || below != conn || !direct
}
