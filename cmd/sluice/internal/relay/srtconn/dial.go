package srtconn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	srt "github.com/datarhei/gosrt"
)

// ErrRejected: the server that was called says no.
var ErrRejected = errors.New("the server rejects the connection")

// errUnanswered: the library has given up.
var errUnanswered = errors.New("the server does not answer")

// Dial connects to HOST:PORT, until ctx is done: the library's Dial knows its own timeout
// only. An error may match ErrRejected. The caller closes the connection.
func Dial(ctx context.Context, host string, c srt.Config) (srt.Conn, error) {
	type dialed struct {
		conn srt.Conn
		err  error
	}
	call := newObserver()
	c.Logger = call
	done := make(chan dialed, 1)
	go func() {
		conn, err := srt.Dial("srt", host, c)
		call.connected.Store(err == nil)
		done <- dialed{conn, err}
	}()
	var err error
	select {
	case d := <-done:
		if d.err != nil {
			return nil, cmp.Or(context.Cause(ctx), d.err)
		}
		return &connection{Conn: d.conn}, nil
	case <-call.failed:
		select {
		case why := <-call.rejected:
			err = fmt.Errorf("%w: %s", ErrRejected, why)
		default:
			err = cmp.Or(context.Cause(ctx), errUnanswered)
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	go func() {
		if d := <-done; d.err == nil {
			(&connection{Conn: d.conn}).Close()
		}
	}()
	return nil, err
}

// connection is one that was dialed.
type connection struct {
	srt.Conn
	reading sync.Mutex // the library bears one Read at a time
}

func (c *connection) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	return c.Conn.Read(p)
}

// Close ends the connection, and then the goroutine that reads its socket: that waits
// until a Read takes its error.
func (c *connection) Close() error {
	err := c.Conn.Close()
	go func() {
		const tries, pause = 20, 50 * time.Millisecond
		var room [1]byte
		for range tries {
			if _, err := c.Read(room[:]); errors.Is(err, srt.ErrClientClosed) {
				return
			}
			<-time.After(pause)
		}
	}()
	return err
}
