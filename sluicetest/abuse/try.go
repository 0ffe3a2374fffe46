package abuse

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// A try is one run of a case.
type try struct {
	ctx    context.Context
	target target
	within time.Duration // for the server's answer, once everything is sent
	stream string        // a name that no other try uses
	guard  string        // the name of the healthy stream
	conn   net.Conn
	note   string // what the report says beside the result
}

// open connects. A server that takes no connection fails every case.
func (t *try) open() bool {
	if t.conn != nil {
		_ = t.conn.Close()
	}
	conn, err := t.target.dial(t.ctx)
	if err != nil {
		t.note = err.Error()
		return false
	}
	t.conn = conn
	_ = conn.SetDeadline(time.Now().Add(t.within))
	context.AfterFunc(t.ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	return true
}

// send writes p. A server that closes before it has read everything does nothing
// wrong, so that there is no error.
func (t *try) send(p ...[]byte) {
	for _, b := range p {
		if _, err := t.conn.Write(b); err != nil {
			return
		}
	}
}

// drip writes p byte by byte, with a pause after each, until the server closes or the
// time for its answer is over.
func (t *try) drip(p []byte, pause time.Duration) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for i := range p {
		if _, err := t.conn.Write(p[i : i+1]); err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-t.ctx.Done():
			return
		}
	}
}

// finish closes the writing side.
func (t *try) finish() {
	if c, ok := t.conn.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
}

// untilClosed reads and drops what comes until the server closes.
func (t *try) untilClosed() result {
	_, err := io.Copy(io.Discard, t.conn)
	return closedBy(err)
}

// closedBy says whether err, nil included, is the end of a connection: everything
// is, but a deadline.
func closedBy(err error) result {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return silent
	}
	return closed
}
