package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load/wire"
)

// calls is the engine for targets whose requests are calls, such as HTTP/2 and files:
// Plan.Depth goroutines for each connection, which carry out one request at a time.
type calls struct{}

// mostProcs bounds what GOMAXPROCS is raised to for files.
const mostProcs = 256

type workers struct {
	*session
	stop context.CancelCauseFunc // ends the run

	mu       sync.Mutex // of both below
	recorder *recorder
	tally    tally
}

type caller struct {
	wire.Caller
	mu       sync.Mutex
	pipeline *pipeline // only what it draws and when: it keeps no request under way
}

func (calls) run(outer context.Context, s *session, pipelines []*pipeline) (tally, error) {
	ctx, stop := context.WithCancelCause(outer)
	defer stop(nil)
	remove, err := s.targets[0].Prepare(ctx)
	if err != nil {
		return tally{}, err
	}
	defer remove() // what cannot be removed stays: the figures are not worse for it
	// A call that blocks keeps its P until the runtime notices, after 20 µs at least: with a P
	// for each worker as many are under way as were asked for.
	if want := min(mostProcs, s.plan.Conns*s.plan.Depth+2); want > runtime.GOMAXPROCS(0) && s.targets[0].Is("file") {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(want))
	}
	c := &workers{session: s, stop: stop, recorder: s.recorder()}
	var callers []*caller
	defer func() {
		for _, made := range callers {
			if counting, ok := made.Caller.(interface{ Redials() uint64 }); ok {
				s.redials.Add(counting.Redials())
			}
			made.Close()
		}
	}()
	for i, l := range pipelines {
		made, err := s.targets[i%len(s.targets)].Caller(ctx, s.plan.Timeout)
		if err != nil {
			return tally{}, fmt.Errorf("load: connection %d of %d: %w", i+1, len(pipelines), err)
		}
		callers = append(callers, &caller{Caller: made, pipeline: l})
	}
	if err := s.begin(); err != nil {
		return tally{}, err
	}
	before := processTime()
	var working sync.WaitGroup
	for _, to := range callers {
		for range s.plan.Depth {
			working.Go(func() { c.work(ctx, to) })
		}
	}
	working.Wait()
	for _, to := range callers {
		c.tally.missed += to.pipeline.missed(s.end, s.plan)
	}
	pause(ctx, time.Duration(s.end-s.now())) // the last may have been answered before the end
	c.tally.busy = float64(processTime()-before) / float64(s.now())
	return c.tally, failure(outer, ctx)
}

func (c *workers) work(ctx context.Context, to *caller) {
	for ctx.Err() == nil {
		to.mu.Lock()
		free := c.now()
		if c.done(to.pipeline, free) {
			to.mu.Unlock()
			return
		}
		r := to.pipeline.draws(free)
		to.mu.Unlock()
		if r.intended > free && !pause(ctx, time.Duration(r.intended-free)) {
			return
		}
		r.sent = c.now()
		r.ideal = max(r.intended, free)
		if to.pipeline.schedule == nil {
			r.intended, r.ideal = r.sent, r.sent
		}
		if err := c.call(ctx, to, &r); err != nil {
			return
		}
	}
}

func (c *workers) call(ctx context.Context, to *caller, r *request) (err error) {
	r.outcome, err = to.Call(ctx, &r.Request)
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tally.count(c.session, r, r.sent-r.ideal)
	if err == nil {
		c.recorder.answered(now, r)
		c.recorder.publish()
		return nil
	}
	if ctx.Err() != nil {
		return err // interrupted, or another one has failed
	}
	c.recorder.unanswered(now, r)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w for %v", silent(r.outcome.Payload), time.Duration(now-r.sent).Round(time.Millisecond))
	}
	c.fault(err, 1)
	if now < c.end {
		c.stop(err)
	}
	return err
}

func (l *pipeline) draws(now int64) request {
	r := request{Request: wire.Request{Conn: l.number, Seq: l.seq, Size: l.size}, intended: now}
	if l.schedule != nil {
		r.intended = l.due
	}
	l.seq++
	l.plan()
	return r
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
