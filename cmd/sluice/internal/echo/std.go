package echo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// stdEngine has a goroutine and a buffer for each connection.
type stdEngine struct {
	settings Settings
	serving  sync.WaitGroup

	mu     sync.Mutex
	conns  map[*stdConn]struct{}
	before Counts // of connections that are closed
}

// stdConn is a connection with its own counts, so that connections do not share
// a cache line for them.
type stdConn struct {
	net.Conn
	requests, bytes atomic.Uint64
}

func newStdEngine(s Settings) *stdEngine {
	return &stdEngine{settings: s, conns: make(map[*stdConn]struct{})}
}

func (e *stdEngine) about() string {
	return fmt.Sprintf("std, a goroutine and a buffer of %d bytes for each connection", e.settings.Buffer)
}

func (e *stdEngine) serve(ctx context.Context, listeners []net.Listener) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var accepting sync.WaitGroup
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		accepting.Go(func() {
			if err := e.accept(ctx, l); err != nil {
				failed <- err
				stop(err)
			}
		})
	}
	<-ctx.Done()
	for _, l := range listeners {
		l.Close()
	}
	accepting.Wait()
	e.end()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// accept serves the connections of l until ctx is done.
func (e *stdEngine) accept(ctx context.Context, l net.Listener) error {
	for {
		conn, err := l.Accept()
		if err == nil {
			c := &stdConn{Conn: conn}
			e.opened(c)
			e.serving.Go(func() {
				defer e.closed(c)
				c.echo(e.settings.Buffer)
			})
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		var t interface{ Temporary() bool }
		if !errors.As(err, &t) || !t.Temporary() {
			return err
		}
		e.settings.OnError(err)
		pause := time.NewTimer(100 * time.Millisecond) // descriptors have run out
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// echo sends back what comes. How a connection ends is the client's affair.
func (c *stdConn) echo(size int) {
	buf := make([]byte, size)
	for {
		n, err := c.Read(buf)
		if n > 0 {
			written, err := c.Write(buf[:n])
			c.requests.Add(1)
			c.bytes.Add(uint64(written))
			if err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (e *stdEngine) opened(c *stdConn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.conns[c] = struct{}{}
	e.before.Accepted++
}

func (e *stdEngine) closed(c *stdConn) {
	c.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.conns, c)
	e.before.Requests += c.requests.Load()
	e.before.Bytes += c.bytes.Load()
}

func (e *stdEngine) counts() Counts {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.before
	c.Open = len(e.conns)
	for conn := range e.conns {
		c.Requests += conn.requests.Load()
		c.Bytes += conn.bytes.Load()
	}
	return c
}

// end lets each connection send back what it has read, for as long as the grace.
func (e *stdEngine) end() {
	e.each(func(c *stdConn) { c.SetReadDeadline(time.Unix(1, 0)) })
	all := make(chan struct{})
	go func() {
		e.serving.Wait()
		close(all)
	}()
	grace := time.NewTimer(e.settings.Grace)
	defer grace.Stop()
	select {
	case <-all:
	case <-grace.C:
		e.settings.OnError(fmt.Errorf("clients that do not read were cut off after %v", e.settings.Grace))
		e.each(func(c *stdConn) { c.Close() })
		<-all
	}
}

func (e *stdEngine) each(f func(*stdConn)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.conns {
		f(c)
	}
}
