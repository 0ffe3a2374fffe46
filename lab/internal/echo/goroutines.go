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

// goroutines is an engine that has a goroutine for each connection.
type goroutines struct {
	settings Settings
	how      string
	// echo sends back what comes, until the connection or its reading ends. How
	// that ends is the client's affair.
	echo    func(*conn, Settings)
	serving sync.WaitGroup

	mu     sync.Mutex
	conns  map[*conn]struct{}
	before Counts // of connections that are closed
}

// conn is a connection with its own counts, so that connections do not share
// a cache line for them.
type conn struct {
	net.Conn
	requests, bytes atomic.Uint64
}

// out counts those of so many gathered requests whose bytes are out, and returns
// how many are left: none when the writer has nothing left; the latest when it
// has, and has written something since that came; else all.
func (c *conn) out(gathered uint64, left int, wrote bool) uint64 {
	still := gathered
	switch {
	case left == 0:
		still = 0
	case wrote:
		still = min(gathered, 1)
	}
	c.requests.Add(gathered - still)
	return still
}

func newGoroutines(s Settings, how string, echo func(*conn, Settings)) *goroutines {
	if s.WriteBuffer > 0 {
		how += fmt.Sprintf(", up to %d bytes gathered before a write", s.WriteBuffer)
	}
	return &goroutines{settings: s, how: how, echo: echo, conns: make(map[*conn]struct{})}
}

func (e *goroutines) about() string { return e.how }

func (e *goroutines) serve(ctx context.Context, listeners []net.Listener) error {
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
func (e *goroutines) accept(ctx context.Context, l net.Listener) error {
	for {
		accepted, err := l.Accept()
		if err == nil {
			c := &conn{Conn: accepted}
			e.opened(c)
			e.serving.Go(func() {
				defer e.closed(c)
				e.echo(c, e.settings)
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

func (e *goroutines) opened(c *conn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.conns[c] = struct{}{}
	e.before.Accepted++
}

func (e *goroutines) closed(c *conn) {
	c.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.conns, c)
	e.before.Requests += c.requests.Load()
	e.before.Bytes += c.bytes.Load()
}

func (e *goroutines) counts() Counts {
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
func (e *goroutines) end() {
	e.each(func(c *conn) { c.SetReadDeadline(time.Unix(1, 0)) })
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
		e.each(func(c *conn) { c.Close() })
		<-all
	}
}

func (e *goroutines) each(f func(*conn)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.conns {
		f(c)
	}
}
