package srtconn

import (
	"context"
	"io"
	"net"
	"sync"
	"time"

	srt "github.com/datarhei/gosrt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
)

const (
	// payload is what one packet of the protocol carries: seven of a transport stream.
	payload = 7 * packetLen
	// burst is sent at once, then comes a pause: a viewer begins with a group of
	// pictures, and the library refuses what its queue of 1,024 packets cannot take.
	burst      = 32 << 10
	burstPause = 2 * time.Millisecond
)

// Paced is a connection that takes any number of bytes, as the live.Writer has them.
type Paced struct {
	conn   srt.Conn
	linger time.Duration
	rest   []byte // less than a packet of a transport stream
	sent   int    // bytes since the latest pause
	window window
	counts continuity
	room   [payload]byte
	once   sync.Once
	closed chan struct{}
}

// NewPaced makes a Paced of conn, transferred.
func NewPaced(conn srt.Conn) *Paced {
	d := latency(conn)
	return &Paced{conn: conn, linger: d + 300*time.Millisecond, window: newWindow(d), counts: continuity{}, closed: make(chan struct{})}
}

// latency is for how long the peer keeps packets before it shows them.
func latency(conn srt.Conn) time.Duration {
	var stats srt.Statistics
	conn.Stats(&stats)
	return min(time.Duration(stats.Instantaneous.MsSendTsbPdDelay)*time.Millisecond, MaxLatency)
}

// Write takes bytes, borrowed until it returns. It sends whole packets of the transport
// stream, numbered one after another, and keeps what is left. It waits while more is on its
// way to the peer than the line carries.
func (p *Paced) Write(b []byte) (int, error) {
	n := len(b)
	if len(p.rest) > 0 {
		k := min(packetLen-len(p.rest), len(b))
		p.rest = append(p.rest, b[:k]...)
		if b = b[k:]; len(p.rest) < packetLen {
			return n, nil
		}
		if err := p.send(p.rest); err != nil {
			return 0, err
		}
		p.rest = p.rest[:0]
	}
	for len(b) >= packetLen {
		k := min(payload, len(b)/packetLen*packetLen)
		if err := p.send(b[:k]); err != nil {
			return 0, err
		}
		b = b[k:]
	}
	p.rest = append(p.rest, b...)
	return n, nil
}

func (p *Paced) send(b []byte) error {
	select {
	case <-p.closed:
		return net.ErrClosed
	default:
	}
	if p.window.full(len(b)) {
		if err := p.wait(len(b)); err != nil {
			return err
		}
	}
	b = p.room[:copy(p.room[:], b)]
	p.counts.number(b)
	if _, err := p.conn.Write(b); err == io.EOF { // as the library says that it is closed
		return io.ErrClosedPipe
	} else if err != nil {
		return err
	}
	p.window.wrote(len(b), time.Now())
	if p.sent += len(b); p.sent >= burst {
		p.sent = 0
		waiting.For(burstPause, p.closed)
	}
	return nil
}

// Close ends the connection, once lost packets could have been sent again: what the peer
// has not shown by then it throws away. It does not wait for that.
func (p *Paced) Close() error {
	p.Stop()
	time.AfterFunc(p.linger, func() { p.conn.Close() })
	return nil
}

// Stop makes writes fail, and leaves the connection open.
func (p *Paced) Stop() { p.once.Do(func() { close(p.closed) }) }

// Linger waits until lost packets could have been sent again, or ctx is done.
func (p *Paced) Linger(ctx context.Context) {
	waiting.For(p.linger, ctx.Done())
}

// Read waits for Close: what the peer sends is not looked at.
func (p *Paced) Read([]byte) (int, error) {
	<-p.closed
	return 0, io.EOF
}

func (p *Paced) LocalAddr() net.Addr             { return p.conn.LocalAddr() }
func (p *Paced) RemoteAddr() net.Addr            { return p.conn.RemoteAddr() }
func (p *Paced) SetDeadline(time.Time) error     { return nil }
func (p *Paced) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline is Stop when t has passed, so that a Write that waits ends. Others need
// none.
func (p *Paced) SetWriteDeadline(t time.Time) error {
	if !t.IsZero() && !t.After(time.Now()) {
		p.Stop()
	}
	return nil
}
