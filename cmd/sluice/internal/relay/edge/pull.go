package edge

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// New returns a puller, which the caller closes.
func New(o Options) *Puller {
	p := &Puller{
		options: o.withDefaults(),
		pulls:   make(map[string]*pulling),
		refused: make(map[string]refusal),
	}
	p.client = p.newClient()
	p.ctx, p.end = context.WithCancelCause(context.Background())
	return p
}

// Pull starts to pull the stream, or joins its pull, and returns when the first
// frame was published. It returns ErrNotFound or ErrDenied when the origin says
// so, ErrLoop when path shows a circle, and the context's cause when ctx ends
// first; the pull then goes on without the caller.
//
// path is the list of servers that the request has passed; nil when it is a
// viewer's own.
func (p *Puller) Pull(ctx context.Context, stream string, path Path) error {
	if !path.admits(p.options.ID) {
		return fmt.Errorf("%w: %v", ErrLoop, path)
	}
	path = append(slices.Clone(path), p.options.ID)
	for {
		q, leaving, err := p.join(stream, path)
		if err != nil {
			return err
		}
		// Wait for a pull that is ending, then start a new one.
		wait := q.ready
		if leaving {
			wait = q.gone
		}
		select {
		case <-wait:
			if !leaving {
				return q.err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// join returns the pull of the stream, starting one if there is none, and reports
// whether it is about to end. The pull asks by the shortest path: any client can claim one
// that the origin refuses for its length, and this must not be the answer to others.
func (p *Puller) join(stream string, path Path) (q *pulling, leaving bool, err error) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, ErrClosed
	}
	if r, ok := p.refused[stream]; ok {
		switch {
		case !now.Before(r.until):
			delete(p.refused, stream)
		case len(path) > r.passed:
			return nil, false, r.err
		}
	}
	q = p.pulls[stream]
	if q == nil {
		if len(p.pulls) >= p.options.Max {
			return nil, false, fmt.Errorf("%w: %d", ErrTooMany, len(p.pulls))
		}
		q = newPulling(p, stream, path)
		p.pulls[stream] = q
		p.begun.Add(1)
		p.running.Go(q.run)
	}
	if len(path) < len(q.path) {
		q.path = path
	}
	q.asked = now
	return q, q.leaving, nil
}
