package aio

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// allowed are the processors that this process was given. It is read once: the
// mask of a thread that has been pinned says something else.
var allowed = sync.OnceValues(func() (unix.CPUSet, error) {
	var set unix.CPUSet
	err := unix.SchedGetaffinity(0, &set)
	return set, err
})

// affinity pins whoever is in wait to a processor.
type affinity struct {
	wanted atomic.Int32 // the processor plus one, 0 for none
	pinned int32        // the same, as it is; for whoever is in wait
	thread int          // that was pinned; the same
}

func (p *readiness) pin(cpuid int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrConnClosed // gaio's word for it
	}
	set, err := allowed()
	if err != nil {
		return fmt.Errorf("aio: sched_getaffinity: %w", err)
	}
	if cpuid < 0 || !set.IsSet(cpuid) {
		return ErrCPUID
	}
	p.wanted.Store(int32(cpuid) + 1)
	return nil
}

// pinThread carries out what pin has asked for. Called by whoever is in wait.
func (p *readiness) pinThread() {
	want := p.wanted.Load()
	if want == 0 || want == p.pinned && unix.Gettid() == p.thread {
		return
	}
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(int(want) - 1)
	// A processor that has gone away since pin looked is no reason to stop.
	_ = unix.SchedSetaffinity(0, &set)
	p.pinned, p.thread = want, unix.Gettid()
}

// unpinThread undoes pinThread when the watcher has been closed.
func (p *readiness) unpinThread() {
	if p.pinned == 0 || unix.Gettid() != p.thread {
		return
	}
	if set, err := allowed(); err == nil {
		_ = unix.SchedSetaffinity(0, &set)
	}
	p.pinned = 0
	runtime.UnlockOSThread()
}
