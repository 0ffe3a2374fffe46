package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load/wire"
)

// portable is the engine over package net: two goroutines for each connection.
// It runs everywhere, and on the time of a testing/synctest bubble.
type portable struct{}

func (portable) run(outer context.Context, s *session, pipelines []*pipeline) (tally, error) {
	ctx, stop := context.WithCancelCause(outer)
	defer stop(nil)
	c := newWorkers(s, stop)
	clients := make([]*client, 0, len(pipelines))
	fail := func(err error) (tally, error) {
		for _, made := range clients {
			made.conn.Close()
		}
		return tally{}, err
	}
	for i, l := range pipelines {
		conn, err := s.connect(ctx, i)
		if err != nil {
			return fail(fmt.Errorf("load: connection %d of %d: %w", i+1, len(pipelines), err))
		}
		cl := &client{workers: c, pipeline: l, conn: conn, target: i}
		cl.changed.L = &cl.mu
		clients = append(clients, cl)
	}
	if err := s.begin(); err != nil {
		return fail(err)
	}
	var serving sync.WaitGroup
	for _, cl := range clients {
		serving.Go(func() { cl.run(ctx) })
	}
	serving.Wait()
	return c.finish(outer, ctx)
}

// A client is one connection and its pipeline. One goroutine writes and one reads; mu
// guards the pipeline, which both use.
type client struct {
	*workers
	target int // of the targets
	buf    [16 << 10]byte

	mu       sync.Mutex
	changed  sync.Cond // of what is below
	pipeline *pipeline
	conn     net.Conn
	broken   error
}

func (c *client) run(ctx context.Context) {
	tries := 0
	for {
		if c.conn != nil {
			before := c.pipeline.seq
			err := c.use(ctx)
			lost := 0
			if errors.Is(err, errReopen) {
				if c.pipeline.count == 0 && c.done(c.pipeline, c.now()) {
					c.giveUp()
					return
				}
				c.pipeline.again(c.now())
				c.target-- // the same target
			} else {
				lost = c.lost()
			}
			if err == nil || ctx.Err() != nil {
				return
			}
			if c.pipeline.seq > before {
				tries = 0
			}
			switch {
			case errors.Is(err, errReopen):
			case c.plan.Redial:
				c.fault(err, lost)
			default:
				c.fault(err, lost)
				c.stop(err)
				return
			}
			c.redials.Add(1)
		}
		c.target++
		last := c.end // there is nothing to send later
		if c.pipeline.count > 0 {
			last = c.drained()
		}
		inTime, stop := context.WithTimeout(ctx, time.Duration(last-c.now()))
		conn, err := c.connect(inTime, c.target)
		stop()
		if err != nil {
			if ctx.Err() != nil || c.now() >= c.end {
				c.giveUp()
				return
			}
			c.fault(err, 1)
			if !c.plan.Redial {
				c.stop(err)
				return
			}
			if !c.sleep(ctx, nil, c.now()+int64(backoff(tries))) {
				return
			}
			tries++
		}
		c.mu.Lock()
		c.conn, c.broken, c.pipeline.ready = conn, nil, c.now()
		c.mu.Unlock()
	}
}

func (c *client) lost() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pipeline.lost(c.now())
}

// use sends and receives until the connection ends, with the reason, or all is
// done.
func (c *client) use(ctx context.Context) error {
	ended := make(chan struct{})
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer close(ended)
		err := c.receive()
		c.mu.Lock()
		if c.broken == nil {
			c.broken = err
		}
		c.mu.Unlock()
		c.changed.Broadcast()
	}()
	conn := c.conn
	context.AfterFunc(ctx, func() { conn.Close() })
	err := c.send(ctx, ended)
	if err == nil {
		err = c.drain()
	}
	stop()
	<-ended
	return err
}

// send sends what is due until there is nothing more to send.
func (c *client) send(ctx context.Context, ended <-chan struct{}) error {
	for {
		c.mu.Lock()
		for c.broken == nil && c.pipeline.unsent == 0 && c.pipeline.next() == never {
			c.changed.Wait()
		}
		due, broken, now := c.pipeline.next(), c.broken, c.now()
		done := c.done(c.pipeline, now) && c.pipeline.unsent == 0
		if c.pipeline.unsent > 0 {
			due = now // what was under way on an earlier connection
		}
		c.mu.Unlock()
		if broken != nil {
			return broken
		}
		if done {
			return nil
		}
		if due > now {
			if !c.sleep(ctx, ended, min(due, c.drained())) {
				return c.reason()
			}
			continue
		}
		if err := c.write(now); err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			switch {
			case c.broken != nil:
				return c.broken // the reader's error says more
			case c.pipeline.reopens():
				return errReopen
			}
			return err
		}
	}
}

// write puts everything that is due under way.
func (c *client) write(now int64) error {
	c.mu.Lock()
	for c.pipeline.next() <= now && !c.done(c.pipeline, now) {
		r, late := c.pipeline.begin(now)
		c.workers.mu.Lock()
		c.tally.count(c.session, r, late)
		c.workers.mu.Unlock()
	}
	c.mu.Unlock()
	c.conn.SetWriteDeadline(time.Now().Add(c.plan.Timeout))
	for {
		c.mu.Lock()
		p := c.pipeline.pending(c.buf[:])
		c.pipeline.gone(len(p)) // before the write: the answer may come before Write returns
		c.mu.Unlock()
		if len(p) == 0 {
			return nil
		}
		_, err := c.conn.Write(p)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("%w: it has taken nothing for %v", ErrSilent, c.plan.Timeout)
		}
		if err != nil {
			return fmt.Errorf("%w: sending: %w", ErrHungUp, err)
		}
	}
}

// drain waits for the answers that are still to come.
func (c *client) drain() error {
	timer := time.AfterFunc(time.Duration(c.drained()-c.now()), c.changed.Broadcast)
	defer timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.broken == nil && c.pipeline.count > 0 && c.now() < c.drained() {
		c.changed.Wait()
	}
	if c.pipeline.count > 0 && c.broken != nil {
		return c.broken
	}
	c.giveUp()
	return nil
}

// giveUp counts what has not been answered, and what has not been sent.
func (c *client) giveUp() {
	c.workers.mu.Lock()
	defer c.workers.mu.Unlock()
	c.abandon(c.pipeline, c.recorder)
	c.tally.missed += c.pipeline.missed(c.end, c.plan)
}

// abandon records the requests of a pipeline that will never be answered.
func (s *session) abandon(l *pipeline, r *recorder) {
	now := s.now()
	for i := range l.count {
		r.unanswered(now, &l.flights[(l.first+i)%l.depth])
	}
	if l.count > 0 {
		s.fault(fmt.Errorf("%w to %d requests at the end", ErrSilent, l.count), l.count)
	}
}

// receive takes answers until the connection ends, and says why it did.
func (c *client) receive() error {
	buf := make([]byte, 64<<10)
	for {
		c.conn.SetReadDeadline(time.Now().Add(c.plan.Timeout))
		n, err := c.conn.Read(buf)
		now := c.now()
		if n > 0 {
			if err := c.take(buf[:n], now); err != nil {
				return err
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			c.mu.Lock()
			silent := c.pipeline.count > 0 && now-c.pipeline.flights[c.pipeline.first].sent >= int64(c.plan.Timeout)
			c.mu.Unlock()
			if silent {
				return fmt.Errorf("%w for %v", ErrSilent, c.plan.Timeout)
			}
		case c.closed(now):
			return errReopen
		case err == io.EOF:
			return ErrHungUp
		default:
			return fmt.Errorf("%w: %w", ErrHungUp, err)
		}
	}
}

// take passes received bytes to the pipeline.
func (c *client) take(p []byte, now int64) error {
	defer c.changed.Broadcast()
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(p) > 0 {
		rest, whole, err := c.pipeline.take(p)
		if err != nil {
			return err
		}
		if whole && c.complete(now) {
			return errReopen
		}
		p = rest
	}
	return nil
}

// complete records a complete answer, with mu held, and reports whether it is the last
// on its connection.
func (c *client) complete(now int64) (last bool) {
	last = c.pipeline.flights[c.pipeline.first].outcome.Last
	c.workers.mu.Lock()
	defer c.workers.mu.Unlock()
	c.answered(c.pipeline, c.recorder, now)
	c.recorder.publish()
	return last
}

// closed reports whether the target may have ended the connection, which it has.
func (c *client) closed(now int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pipeline.ended() {
		return c.complete(now)
	}
	return c.pipeline.reopens()
}

// answered records a complete answer.
func (s *session) answered(l *pipeline, r *recorder, now int64) {
	if s.acks != nil {
		a, r := l.protocol.(wire.Acknowledger), &l.flights[l.first] // by Plan.Check
		s.acks.append(a.Number(), a.Sum(&r.Request), r.Size)
	}
	q := l.answered(now)
	r.answered(now, &q)
}

// sleep waits until a time; it returns false when ctx or the connection ends
// before.
func (c *client) sleep(ctx context.Context, ended <-chan struct{}, until int64) bool {
	timer := time.NewTimer(time.Duration(until - c.now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ended:
		return false
	case <-ctx.Done():
		return false
	}
}

// reason is why the connection has ended.
func (c *client) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		return ErrHungUp
	}
	return c.broken
}
