package matrix

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// A Process is a target that listens. Its methods may be called from any
// goroutine.
type Process interface {
	// Addr is what load.Plan.Target takes.
	Addr() string
	// PID is 0 where it is no process of its own.
	PID() int
	// Kept is how many bytes are in its directory, 0 without one.
	Kept() int64
	// Ended says why it has ended, and nil while it has not.
	Ended() error
	// Stop ends it and removes its directory. It returns when both are done.
	Stop() error
}

// running is a target that ran already, and goes on.
type running struct {
	addr string
	pid  int
}

func (r *running) Addr() string { return r.addr }
func (r *running) PID() int     { return r.pid }
func (r *running) Kept() int64  { return 0 }
func (r *running) Ended() error { return nil }
func (r *running) Stop() error  { return nil }

// mostKept is how many bytes a target may keep in files before it is started
// afresh.
const mostKept = 512 << 20

// targets are those that run.
type targets struct {
	start   func(context.Context, Target) (Process, error)
	running map[string]Process
}

// get returns the process of a target, which is fresh when it was not there yet.
func (t *targets) get(ctx context.Context, target Target) (p Process, fresh bool, err error) {
	key := strings.Join(target.Args, " ")
	if p, ok := t.running[key]; ok {
		return p, false, nil
	}
	p, err = t.start(ctx, target)
	if err != nil {
		return nil, false, fmt.Errorf("matrix: lab %s: %w", key, err)
	}
	t.running[key] = p
	return p, true, nil
}

// tidy stops a target that keeps too much.
func (t *targets) tidy(target Target) error {
	key := strings.Join(target.Args, " ")
	p := t.running[key]
	if p == nil || !target.Keeps || p.Kept() <= mostKept {
		return nil
	}
	delete(t.running, key)
	return p.Stop()
}

// stop ends all.
func (t *targets) stop() error {
	errs := make([]error, len(t.running))
	var ending sync.WaitGroup
	i := 0
	for _, p := range t.running {
		at := &errs[i]
		ending.Go(func() { *at = p.Stop() })
		i++
	}
	ending.Wait()
	clear(t.running)
	return errors.Join(errs...)
}
