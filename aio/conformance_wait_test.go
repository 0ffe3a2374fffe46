package aio_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/aio"
)

// A waitLoop calls WaitIO in its own goroutine, once for each start, so that a test
// can work meanwhile and bound the wait.
type waitLoop struct {
	ask    chan struct{}
	got    chan waited
	id     string
	inside atomic.Bool // WaitIO has been called and has not returned
	asked  bool
}

type waited struct {
	results []aio.OpResult
	err     error
}

func newWaitLoop(w *aio.Watcher) *waitLoop {
	l := &waitLoop{ask: make(chan struct{}), got: make(chan waited, 1)}
	id := make(chan string)
	go func() {
		id <- goroutineID()
		for range l.ask {
			l.got <- waitOnce(l, w)
		}
	}()
	l.id = <-id
	return l
}

// waitOnce is a function so that the loop keeps nothing of the results.
func waitOnce(l *waitLoop, w *aio.Watcher) waited {
	l.inside.Store(true)
	defer l.inside.Store(false)
	r, err := w.WaitIO()
	return waited{r, err}
}

// start lets the goroutine call WaitIO, unless it does already.
func (l *waitLoop) start() {
	if !l.asked {
		l.asked = true
		l.ask <- struct{}{}
	}
}

func (l *waitLoop) result(within time.Duration) ([]aio.OpResult, error, bool) {
	bound := time.NewTimer(within)
	defer bound.Stop()
	select {
	case r := <-l.got:
		l.asked = false
		return r.results, r.err, true
	case <-bound.C:
		return nil, nil, false
	}
}

// idle reports whether WaitIO has been called and sleeps.
func (l *waitLoop) idle() bool {
	return l.inside.Load() && sleeps(l.id)
}

func (l *waitLoop) end() { close(l.ask) }

// park makes the loop's goroutine sleep in WaitIO. It returns only when the
// goroutine's stack shows that it sleeps: what completes later has to wake it.
func (f *fixture) park() {
	f.Helper()
	f.loop.start()
	f.eventually("WaitIO sleeps", func() bool {
		if len(f.loop.got) > 0 {
			f.Fatalf("WaitIO returned when nothing had happened: %+v", <-f.loop.got)
		}
		return f.loop.idle()
	})
}

// parks is park where something may happen: then it returns false.
func (f *fixture) parks() (asleep bool) {
	f.Helper()
	f.loop.start()
	f.eventually("WaitIO sleeps or returns", func() bool {
		asleep = f.loop.idle()
		return asleep || len(f.loop.got) > 0
	})
	return asleep
}

// parked reports whether the WaitIO that park began is still under way.
func (f *fixture) parked() bool { return len(f.loop.got) == 0 }

func goroutineID() string {
	b := make([]byte, 64)
	b = b[:runtime.Stack(b, false)]
	return string(bytes.Fields(b)[1])
}

// sleeps reports whether the goroutine waits as WaitIO does, for the poller or for the
// goroutines of Std: on its way there it may wait for the collector, or for a lock. Only
// the heads of the stacks matter, so that it costs little with many goroutines.
func sleeps(id string) bool {
	head := fmt.Sprintf("goroutine %s [", id)
	_, state, _ := strings.Cut(stacks(), head)
	return strings.HasPrefix(state, "IO wait") || strings.HasPrefix(state, "sync.Cond.Wait")
}
