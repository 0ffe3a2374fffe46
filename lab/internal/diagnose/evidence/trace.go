package evidence

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/exp/trace"
)

const (
	// maxTrace is how much of an execution trace is read. Its events become
	// objects of a second's worth at a time, which take several times that.
	maxTrace = 64 << 20
	// traceMoment is how often a trace is stopped to look at all goroutines.
	traceMoment = 2 * time.Millisecond
)

// readTrace replays an execution trace of Go 1.22 or later. When the trace is
// cut off or damaged it returns what was read until there, and an error.
func readTrace(r io.Reader) (*Waits, error) {
	limited := &io.LimitedReader{R: r, N: maxTrace}
	in := bufio.NewReader(limited)
	// The older forms are parsed in one piece and trust the lengths in the file.
	head, err := in.Peek(16)
	if err != nil {
		return nil, fmt.Errorf("reading a trace: %w", err)
	}
	var minor int
	if n, err := fmt.Sscanf(string(head), "go 1.%d trace", &minor); n != 1 || err != nil || minor < 22 {
		return nil, fmt.Errorf("no execution trace of Go 1.22 or later: it begins with %q", head)
	}
	f := follower{goroutines: map[trace.GoID]moment{}, aside: map[trace.GoID]bool{}, stacks: map[string][]Frame{}, set: newWaitSet()}
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
	f.look()
	w := f.set.sum(f.now.Sub(f.began))
	if len(f.goroutines) == 0 && len(f.aside) == 0 { // there is no program without one
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("parsing a trace: %w", err)
	}
	if err != nil {
		return w, fmt.Errorf("a trace was read for %v: %w", w.Took, err)
	}
	return w, nil
}

type follower struct {
	began, now, next trace.Time
	started          bool
	goroutines       map[trace.GoID]moment
	aside            map[trace.GoID]bool // the runtime's own, and those of the measuring
	stacks           map[string][]Frame
	set              *waitSet
}

var traceStates = map[trace.GoState]goState{trace.GoRunning: goRunning, trace.GoRunnable: goRunnable, trace.GoSyscall: goSyscall, trace.GoWaiting: goWaiting}

func (f *follower) event(e trace.Event) {
	f.now = max(f.now, e.Time())
	if !f.started {
		f.started, f.began, f.now, f.next = true, e.Time(), e.Time(), e.Time()+trace.Time(traceMoment)
	}
	for i := 0; f.now >= f.next && i < 1000; i++ { // a gap in a damaged trace is not walked through
		f.look()
		f.next += trace.Time(traceMoment)
	}
	f.next = max(f.next, f.now)
	if e.Kind() != trace.EventStateTransition {
		return
	}
	tr := e.StateTransition()
	if tr.Resource.Kind != trace.ResourceGoroutine {
		return
	}
	id := tr.Resource.Goroutine()
	_, to := tr.Goroutine()
	if to == trace.GoNotExist {
		delete(f.goroutines, id)
		delete(f.aside, id)
	}
	state, live := traceStates[to]
	if !live {
		return
	}
	m := moment{state: state, reason: tr.Reason}
	if state == goSyscall {
		m.reason = ReasonSyscall
	}
	if m.frames = f.stack(tr.Stack); len(m.frames) > 0 && (isRuntimes(m.frames[len(m.frames)-1].Func) || isMeasuring(m.frames)) || m.reason == "system goroutine wait" {
		f.aside[id] = true
	}
	if m.state == goWaiting {
		m.reason = reasonOf(m.reason, m.frames)
		m.frames = trimPark(m.frames)
	}
	if was, known := f.goroutines[id]; known && len(m.frames) == 0 && was.state == m.state {
		return // said again at the start of a generation
	}
	if len(f.goroutines) < 1<<20 {
		f.goroutines[id] = m
	}
}

func (f *follower) look() {
	now := crowd{}
	for id, m := range f.goroutines {
		if f.aside[id] || m.state == goWaiting && len(m.frames) == 0 {
			continue // it waited before the trace began, most often in the runtime
		}
		now.add(m.state, m.reason, m.frames, uint64(id))
	}
	f.set.add(now)
}

// stack returns the one slice for all stacks with these frames.
func (f *follower) stack(s trace.Stack) []Frame {
	if s == trace.NoStack {
		return nil
	}
	var frames []Frame
	var key strings.Builder
	for fr := range s.Frames() {
		if len(frames) == deepest || fr.Func == "runtime.goexit" {
			break
		}
		frames = append(frames, Frame{Func: fr.Func, File: base(fr.File), Line: int(fr.Line)})
		fmt.Fprintf(&key, "%s:%d\n", fr.Func, fr.Line)
	}
	if kept, known := f.stacks[key.String()]; known {
		return kept
	}
	if len(f.stacks) < distinctStacks {
		f.stacks[key.String()] = frames
	}
	return frames
}

// trimPark takes off the innermost frames, those of the runtime putting the
// goroutine to sleep. What programs call of it, such as runtime.GC, stays.
func trimPark(frames []Frame) []Frame {
	for i, f := range frames {
		if name, runtimes := strings.CutPrefix(f.Func, "runtime."); (!runtimes || "A" <= name && name < "[") && !strings.HasPrefix(f.Func, "internal/poll.runtime_") && !strings.HasPrefix(f.Func, "internal/poll.(*pollDesc).") &&
			!strings.HasPrefix(f.Func, "sync.runtime_") && !strings.HasPrefix(f.Func, "internal/sync.") {
			return frames[i:]
		}
	}
	return frames
}

// isRuntimes reports whether goroutines that begin with a function are the runtime's own.
func isRuntimes(first string) bool {
	return first == "os/signal.loop" || strings.HasPrefix(first, "runtime.") && first != "runtime.main"
}

// isMeasuring reports whether a stack is that of a server that is asked for its
// profiles. Functions that programs call around their own work are not.
func isMeasuring(frames []Frame) bool {
	return slices.ContainsFunc(frames, func(f Frame) bool {
		return strings.HasPrefix(f.Func, "net/http/pprof.") || f.Func == "runtime/pprof.profileWriter" || strings.HasPrefix(f.Func, "runtime/trace.Start.")
	})
}
