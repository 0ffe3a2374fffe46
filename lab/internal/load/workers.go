package load

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/sluice-go/sluice/lab/internal/proc"
)

// A workers is the state that the goroutines of an engine share.
type workers struct {
	*session
	stop   context.CancelCauseFunc // ends the run
	before proc.Reading            // of this process, when the run was prepared

	mu       sync.Mutex // of both below
	recorder *recorder
	tally    tally
}

func newWorkers(s *session, stop context.CancelCauseFunc) *workers {
	w := &workers{session: s, stop: stop, recorder: s.recorder()}
	w.before, _ = proc.Read(0)
	return w
}

// finish returns what an engine does, after its goroutines have ended. ctx is that of the
// run, within outer.
func (w *workers) finish(outer, ctx context.Context) (tally, error) {
	pause(ctx, time.Duration(w.end-w.now())) // the last may have been answered before the end
	if after, err := proc.Read(0); err == nil {
		spent := w.before.To(after)
		w.tally.busy = spent.CPU.Seconds() / (time.Since(w.base).Seconds() * float64(min(runtime.GOMAXPROCS(0), runtime.NumCPU())))
	}
	var err error
	if outer.Err() == nil {
		err = context.Cause(ctx)
	}
	return w.tally, err
}
