package poller

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// allowed are the processors that this process was given. It is read once: the
// mask of a thread that has been pinned says something else.
var allowed = sync.OnceValues(func() (unix.CPUSet, error) {
	var set unix.CPUSet
	err := unix.SchedGetaffinity(0, &set)
	return set, err
})

// Affinity pins the goroutine in Wait to a processor. Its zero value pins nothing.
type Affinity struct {
	wanted atomic.Int32 // the processor plus one, 0 for none
	pinned int32        // the same, as it is; for the goroutine in Wait
	thread int          // that was pinned; the same
}

// Want asks for a processor, from the next Pin on.
func (a *Affinity) Want(cpuid int) error {
	set, err := allowed()
	if err != nil {
		return fmt.Errorf("aio: sched_getaffinity: %w", err)
	}
	if cpuid < 0 || !set.IsSet(cpuid) {
		return op.ErrCPUID
	}
	a.wanted.Store(int32(cpuid) + 1)
	return nil
}

// Pin pins the caller, if that was asked for.
func (a *Affinity) Pin() {
	want := a.wanted.Load()
	if want == 0 || want == a.pinned && unix.Gettid() == a.thread {
		return
	}
	if a.pinned == 0 || unix.Gettid() != a.thread { // else it is locked, which counts
		runtime.LockOSThread()
	}
	var set unix.CPUSet
	set.Set(int(want) - 1)
	// A processor that has gone away since Want looked is no reason to stop.
	_ = unix.SchedSetaffinity(0, &set)
	a.pinned, a.thread = want, unix.Gettid()
}

// Unpin undoes Pin when the watcher has been closed.
func (a *Affinity) Unpin() {
	if a.pinned == 0 || unix.Gettid() != a.thread {
		return
	}
	if set, err := allowed(); err == nil {
		_ = unix.SchedSetaffinity(0, &set)
	}
	a.pinned = 0
	runtime.UnlockOSThread()
}
