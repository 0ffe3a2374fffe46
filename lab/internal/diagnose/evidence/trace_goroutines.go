package evidence

import (
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/exp/trace"
)

// blockedFrom is how long a system call has to take to count as one that
// blocked: the runtime looks for processors that are stuck in one as often.
const blockedFrom = 20 * time.Microsecond

// buried is how many goroutines that have ended are remembered: they may have
// held the lock that another goroutine waits for.
const buried = 4096

// A goroutine is where one stands while the trace is read.
type goroutine struct {
	state      trace.GoState
	since      trace.Time
	reason     string
	stack      stackID // where it waits, or called the system
	aside      bool    // the runtime's, or of the measuring itself
	worker     bool    // of the garbage collector
	idleWorker bool    // on a processor with nothing else to do, for now
	spans      []span  // its last waits, oldest first
}

// transition moves a goroutine from state to state.
func (f *follower) transition(e trace.Event, tr trace.StateTransition) {
	id := tr.Resource.Goroutine()
	from, to := tr.Goroutine()
	g := f.goroutines[id]
	if g == nil || from == trace.GoNotExist {
		if g == nil && len(f.goroutines) >= maxGoroutines {
			return
		}
		g = &goroutine{since: e.Time()}
		if from != trace.GoNotExist {
			// It was there before, and the trace comes to speak of it only now.
			g.since = f.began
		}
		f.goroutines[id] = g
	} else if g.state == to {
		return // said again at the start of a generation
	} else {
		f.leave(g, to, f.wakerOf(e), e.Goroutine())
		g.since = e.Time()
	}
	g.state, g.reason, g.stack = to, tr.Reason, f.stacks.id(tr.Stack)
	known := f.stacks.all[g.stack]
	if known.aside || g.reason == "system goroutine wait" {
		g.aside = true
	}
	if known.gc && g.reason == "sync" {
		g.reason = reasonGC
	}
	if g.reason == "" || g.reason == "unspecified" {
		if g.reason = known.reason; g.reason == "" {
			g.reason = "unknown"
		}
	}
	if to == trace.GoNotExist {
		f.bury(id, g)
	}
}

// bury forgets the goroutine that ended as the 4,096th before this one.
func (f *follower) bury(id trace.GoID, g *goroutine) {
	f.graves = append(f.graves, grave{id, g})
	if len(f.graves) >= 2*buried {
		for _, old := range f.graves[:buried] {
			if f.goroutines[old.id] == old.g {
				delete(f.goroutines, old.id)
			}
		}
		f.graves = append(f.graves[:0], f.graves[buried:]...)
	}
}

type grave struct {
	id trace.GoID
	g  *goroutine
}

// wakerOf is the stack of the goroutine that an event happened on.
func (f *follower) wakerOf(e trace.Event) *stackID {
	if e.Goroutine() == trace.NoGoroutine {
		return nil
	}
	id := f.stacks.id(e.Stack())
	return &id
}

// leave books the time that g has spent in its state. The waker, if there was one, is
// the stack of the goroutine by, which made g ready. To is GoUndetermined at
// the end of the trace.
func (f *follower) leave(g *goroutine, to trace.GoState, waker *stackID, by trace.GoID) {
	took := max(f.now.Sub(g.since), 0)
	if g.aside {
		if g.worker && g.state == trace.GoRunning {
			f.t.GCWork += took
			if g.idleWorker {
				f.t.GCIdle += took
			}
		}
		return
	}
	open := to == trace.GoUndetermined
	switch g.state {
	case trace.GoRunning:
		f.t.Running += took
	case trace.GoRunnable:
		f.t.Runnable += took
		if to == trace.GoRunning {
			f.latency.add(took)
		}
	case trace.GoWaiting:
		if g.stack == 0 {
			// It waited before the trace began, at an unknown place: most are the
			// runtime's own.
			return
		}
		f.t.Waiting += took
		p := f.blocked.at(g.reason, g.stack)
		p.add(took, open)
		if open {
			return
		}
		if waker != nil && *waker != 0 {
			p.endedBy(*waker)
		}
		switch {
		case g.reason == "network" || g.reason == "sleep":
			g.waited(span{g.since, f.now, trace.NoGoroutine})
		case waker != nil && f.stacks.all[g.stack].lock:
			p.whileIO += f.inIO(by, g.since, f.now)
			g.waited(span{g.since, f.now, by})
		}
	case trace.GoSyscall:
		f.t.Syscall += took
		if open || to == trace.GoRunnable || took >= blockedFrom {
			f.inSyscall.at("syscall", g.stack).add(took, open)
		}
		g.waited(span{g.since, f.now, trace.NoGoroutine})
	}
}

// keptSpans is how many of its last waits are known of a goroutine.
const keptSpans = 64

// A span is a time that a goroutine waited: in I/O or asleep, or for a lock
// that another gave back in the end.
type span struct {
	from, to trace.Time
	holder   trace.GoID // NoGoroutine: I/O or sleep
}

func (g *goroutine) waited(s span) {
	if len(g.spans) >= 2*keptSpans {
		g.spans = append(g.spans[:0], g.spans[keptSpans:]...)
	}
	g.spans = append(g.spans, s)
}

// inIO returns how much of the time a goroutine was in I/O or asleep. While it
// waited for a lock itself, the time of that lock's holder counts: of several
// goroutines that queue for a lock, each waits for all before it.
func (f *follower) inIO(id trace.GoID, from, to trace.Time) time.Duration {
	steps := 4 * keptSpans
	return f.inIOSteps(id, from, to, &steps)
}

func (f *follower) inIOSteps(id trace.GoID, from, to trace.Time, steps *int) time.Duration {
	g := f.goroutines[id]
	if g == nil {
		return 0
	}
	var sum time.Duration
	for i := len(g.spans) - 1; i >= 0 && *steps > 0; i-- {
		s := g.spans[i]
		if s.to <= from {
			break
		}
		*steps--
		s.from, s.to = max(s.from, from), min(s.to, to)
		if s.from >= s.to {
			continue
		}
		if s.holder == trace.NoGoroutine {
			sum += s.to.Sub(s.from)
		} else {
			sum += f.inIOSteps(s.holder, s.from, s.to, steps)
		}
	}
	return sum
}

// latencies is a distribution of durations up to a minute, within 1 %.
type latencies struct{ h *hdrhistogram.Histogram }

func (l *latencies) add(d time.Duration) {
	if l.h == nil {
		l.h = hdrhistogram.New(1, int64(time.Minute), 2)
	}
	// It cannot fail: the value is within the bounds.
	_ = l.h.RecordValue(min(max(int64(d), 1), int64(time.Minute)))
}

func (l *latencies) sum() Latency {
	if l.h == nil {
		return Latency{}
	}
	return Latency{
		Count: l.h.TotalCount(),
		P50:   time.Duration(l.h.ValueAtQuantile(50)),
		P99:   time.Duration(l.h.ValueAtQuantile(99)),
		Max:   time.Duration(l.h.Max()),
	}
}

// reasonGC stands for waits that the trace calls "sync", but are for a collection
// to begin or to end.
const reasonGC = "GC"

// reasons gives a wait without a known reason one by its stack: by what the
// innermost frames call.
var reasons = []struct{ call, reason string }{
	{"internal/poll.runtime_pollWait", "network"},
	{"time.Sleep", "sleep"},
	{"runtime.chanrecv", "chan receive"},
	{"runtime.chansend", "chan send"},
	{"runtime.selectgo", "select"},
	{"sync.(*Cond).Wait", "sync.(*Cond).Wait"},
	{"sync.runtime_Semacquire", "sync"},
	{"sync.runtime_SemacquireRWMutex", "sync"},
	{"sync.runtime_SemacquireWaitGroup", "sync"},
	{"internal/sync.runtime_SemacquireMutex", "sync"},
}

func reasonOf(frames []Frame) string {
	for _, f := range frames[:min(len(frames), 6)] {
		for _, r := range reasons {
			if strings.HasPrefix(f.Func, r.call) {
				return r.reason
			}
		}
	}
	return ""
}
