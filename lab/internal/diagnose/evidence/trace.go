package evidence

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/exp/trace"
)

// maxTrace is how much of an execution trace is read. Its events become
// objects of a second's worth at a time, which take several times that.
const maxTrace = 64 << 20

// maxGoroutines bounds how many goroutines are followed at once; the others
// are not counted.
const maxGoroutines = 1 << 20

// readTrace reads an execution trace of Go 1.22 or later. When the trace is
// cut off or damaged it returns what was read until there, and an error.
func readTrace(r io.Reader) (*Trace, error) {
	limited := &io.LimitedReader{R: r, N: maxTrace}
	in := bufio.NewReader(limited)
	// The older forms are parsed in one piece and trust the lengths in the file.
	head, err := in.Peek(16)
	if err != nil {
		return nil, fmt.Errorf("evidence: reading a trace: %w", noEOF(err))
	}
	var minor int
	if n, err := fmt.Sscanf(string(head), "go 1.%d trace", &minor); n != 1 || err != nil || minor < 22 {
		return nil, fmt.Errorf("evidence: no execution trace of Go 1.22 or later: it begins with %q", head)
	}
	f := newFollower()
	err = guarded("trace", func() error {
		reader, err := trace.NewReader(in)
		if err != nil {
			return err
		}
		for {
			event, err := reader.ReadEvent()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			f.event(event)
		}
	})
	if limited.N == 0 {
		err = fmt.Errorf("a trace of more than %d MiB: %w", maxTrace>>20, ErrTooLarge)
	}
	if len(f.goroutines) == 0 { // there is no program without one
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("evidence: parsing a trace: %w", err)
	}
	t := f.finish()
	if err != nil {
		return t, fmt.Errorf("evidence: a trace was read for %v: %w", t.Took, err)
	}
	return t, nil
}

// noEOF makes io.EOF where more had to come into io.ErrUnexpectedEOF.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// A follower adds up what the events of a trace say.
type follower struct {
	started    bool
	began, now trace.Time
	procs      int
	running    map[trace.ProcID]bool // seen running; procs when the trace does not say it
	goroutines map[trace.GoID]*goroutine
	graves     []grave // of goroutines, in the order in which they ended
	stacks     *stackTable
	blocked    places
	inSyscall  places
	latency    latencies
	ranges     map[rangeKey]trace.Time
	t          Trace
}

// A rangeKey is what only one range may be active of at a time.
type rangeKey struct {
	name  string
	scope trace.ResourceID
}

func newFollower() *follower {
	return &follower{
		running:    make(map[trace.ProcID]bool),
		goroutines: make(map[trace.GoID]*goroutine),
		stacks:     newStackTable(),
		blocked:    make(places),
		inSyscall:  make(places),
		ranges:     make(map[rangeKey]trace.Time),
	}
}

func (f *follower) event(e trace.Event) {
	if !f.started {
		f.began, f.started = e.Time(), true
	}
	f.now = max(f.now, e.Time())
	switch e.Kind() {
	case trace.EventSync:
		f.stacks.forget()
	case trace.EventMetric:
		if m := e.Metric(); m.Name == "/sched/gomaxprocs:threads" && m.Value.Kind() == trace.ValueUint64 {
			f.procs = int(min(m.Value.Uint64(), 1<<20))
		}
	case trace.EventLabel:
		// The runtime labels its workers when it gives them a processor.
		if l := e.Label(); l.Resource.Kind == trace.ResourceGoroutine && strings.HasPrefix(l.Label, "GC (") {
			if g := f.goroutines[l.Resource.Goroutine()]; g != nil {
				g.worker = true
				g.idleWorker = l.Label == "GC (idle)"
			}
		}
	case trace.EventRangeBegin, trace.EventRangeActive:
		key := rangeKey{e.Range().Name, e.Range().Scope}
		if _, active := f.ranges[key]; active || len(f.ranges) >= maxGoroutines {
			return
		}
		at := e.Time()
		if e.Kind() == trace.EventRangeActive {
			at = f.began
		} else if key.name == rangeMark {
			f.t.GCs++
		}
		f.ranges[key] = at
	case trace.EventRangeEnd:
		key := rangeKey{e.Range().Name, e.Range().Scope}
		if at, active := f.ranges[key]; active {
			delete(f.ranges, key)
			f.rangeOver(key.name, e.Time().Sub(at))
		}
	case trace.EventStateTransition:
		switch tr := e.StateTransition(); tr.Resource.Kind {
		case trace.ResourceGoroutine:
			f.transition(e, tr)
		case trace.ResourceProc:
			if _, to := tr.Proc(); to == trace.ProcRunning && len(f.running) < maxGoroutines {
				f.running[tr.Resource.Proc()] = true
			}
		}
	}
}

// Names of ranges in the trace, from the runtime.
const (
	rangeMark   = "GC concurrent mark phase"
	rangeAssist = "GC mark assist"
	rangeStop   = "stop-the-world ("
)

func (f *follower) rangeOver(name string, took time.Duration) {
	switch {
	case name == rangeMark:
		f.t.GC += took
	case name == rangeAssist:
		f.t.GCWork += took
	case strings.HasPrefix(name, rangeStop) && !strings.Contains(name, "trace"):
		// The trace's own stops are not the workload's.
		f.t.Stopped += took
	}
}

// finish closes what is open at the end of the trace.
func (f *follower) finish() *Trace {
	for key, at := range f.ranges {
		f.rangeOver(key.name, f.now.Sub(at))
	}
	for _, g := range f.goroutines {
		f.leave(g, trace.GoUndetermined, nil, 0)
	}
	t := f.t
	t.Took = f.now.Sub(f.began)
	t.Procs = f.procs
	if t.Procs == 0 {
		t.Procs = len(f.running)
	}
	t.Blocked = f.blocked.list(f.stacks)
	t.InSyscall = f.inSyscall.list(f.stacks)
	t.Latency = f.latency.sum()
	return &t
}
