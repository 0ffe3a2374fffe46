package evidence

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

const (
	// keptPlaces is how many places where goroutines waited are reported.
	keptPlaces = 200
	// distinctPlaces bounds how many are distinguished.
	distinctPlaces = 50_000
)

type goState uint8

const (
	goRunning goState = iota
	goRunnable
	goSyscall
	goWaiting
)

// Reasons of waits that the rules ask for, as the runtime calls them.
const (
	ReasonNetwork = "IO wait"
	ReasonSleep   = "sleep"
	ReasonSyscall = "syscall"
)

// LocksGoroutines reports whether a reason is that of a lock of package sync.
func LocksGoroutines(reason string) bool {
	return strings.HasPrefix(reason, "sync.Mutex") || strings.HasPrefix(reason, "sync.RWMutex")
}

type moment struct {
	state  goState
	reason string
	frames []Frame // innermost first; kept by the caller, one slice for one stack
	count  int     // goroutines
}

// A crowd is what all goroutines do at one moment: those that do the same are one in it.
type crowd map[doing]*moment

type doing struct {
	state  goState
	reason string
	stack  *Frame // the first of it
}

func (c crowd) add(state goState, reason string, frames []Frame) *moment {
	key := doing{state: state, reason: reason}
	if len(frames) > 0 {
		key.stack = &frames[0]
	}
	if c[key] == nil {
		c[key] = &moment{state: state, reason: reason, frames: frames}
	}
	c[key].count++
	return c[key]
}

type waitSet struct {
	waits  Waits
	places map[string]*placeTally
	keys   map[*Frame]string // of stacks seen before
	own    map[*Frame][]string
}

type placeTally struct {
	Place
	sum      int
	here     int // at the moment
	shrank   bool
	withWait int // moments in which goroutines waited here
	alone    int // those in which one other was in I/O, or none worked: then the holder of a lock does not
}

func newWaitSet() *waitSet {
	return &waitSet{places: map[string]*placeTally{}, keys: map[*Frame]string{}, own: map[*Frame][]string{}}
}

// add takes what all goroutines do at one moment. Frames are kept.
func (w *waitSet) add(now crowd) {
	total, works := 0, false
	w.waits.Samples++
	for _, p := range w.places {
		p.here = 0
	}
	for _, m := range now {
		total += m.count
		works = works || m.state == goRunning || m.state == goRunnable
		sum := [...]*float64{goRunning: &w.waits.Running, goRunnable: &w.waits.Runnable, goSyscall: &w.waits.Syscall, goWaiting: &w.waits.Waiting}[m.state]
		*sum += float64(m.count)
		if m.state == goSyscall || m.state == goWaiting {
			w.at(*m).here += m.count
		}
	}
	for _, p := range w.places {
		before := p.Last
		p.Last = p.here
		p.sum += p.here
		if w.waits.Samples == 1 {
			p.First = p.here
		} else if p.here < before {
			p.shrank = true
		}
		if p.here > 0 && len(p.Frames) > 0 && p.Reason != ReasonNetwork && p.Reason != ReasonSleep && p.Reason != ReasonSyscall {
			p.withWait++
			if w.inIO(&p.Place, now) == 1 || !works && LocksGoroutines(p.Reason) {
				p.alone++
			}
		}
	}
	if w.waits.Samples == 1 {
		w.waits.First = total
	}
	w.waits.Last = total
}

func (w *waitSet) at(m moment) *placeTally {
	if m.reason == "semacquire" { // a lock of an older version of Go, a WaitGroup, or the runtime's own
		m.reason = reasonOf(m.reason, m.frames)
	}
	key := m.reason
	if len(m.frames) > 0 {
		stack, known := w.keys[&m.frames[0]]
		if !known {
			var b strings.Builder
			for _, f := range m.frames {
				b.WriteString(f.Func)
				b.WriteByte('\n')
			}
			stack = b.String()
			w.keys[&m.frames[0]] = stack
		}
		key += "\n" + stack
	}
	p := w.places[key]
	if p == nil && len(w.places) >= distinctPlaces {
		m, key = moment{reason: otherFrames}, otherFrames
		p = w.places[key]
	}
	if p == nil {
		p = &placeTally{Place: Place{Reason: m.reason, Frames: m.frames}}
		w.places[key] = p
	}
	return p
}

// inIO counts the goroutines in I/O or asleep below the function in which those at p wait. Where the lock
// is held meanwhile there is one: a second could not be there.
func (w *waitSet) inIO(p *Place, now crowd) int {
	waiting := w.ownOf(p.Frames)
	if len(waiting) == 0 || len(waiting) == 1 && !LocksGoroutines(p.Reason) {
		return 0 // a pool's goroutines wait for work where they began
	}
	n := 0
	for _, m := range now {
		if m.state != goSyscall && m.reason != ReasonNetwork && m.reason != ReasonSleep || len(m.frames) == 0 {
			continue
		}
		own := w.ownOf(m.frames)
		// Everything is below the function that a goroutine began with.
		if i := slices.Index(own, waiting[0]); i == 0 || i > 0 && i < len(own)-1 {
			n += m.count
		}
	}
	return n
}

func (w *waitSet) ownOf(frames []Frame) []string {
	own, known := w.own[&frames[0]]
	if !known {
		own = ownFuncs(frames)
		w.own[&frames[0]] = own
	}
	return own
}

// growing is by how many goroutines a place has to grow before it counts.
const growing = 30

func (w *waitSet) sum(took time.Duration) *Waits {
	if w.waits.Samples == 0 {
		return nil
	}
	out := w.waits
	n := float64(out.Samples)
	out.Took = took
	out.Running, out.Runnable, out.Syscall, out.Waiting = out.Running/n, out.Runnable/n, out.Syscall/n, out.Waiting/n
	out.Places = []Place{}
	for _, p := range w.places {
		p.Mean = float64(p.sum) / n
		p.Grew = out.Samples > 3 && !p.shrank && p.Last >= p.First+growing
		if p.withWait > 0 {
			p.WhileIO = float64(p.alone) / float64(p.withWait)
		}
		out.Places = append(out.Places, p.Place)
	}
	slices.SortFunc(out.Places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(b.Mean, a.Mean), cmp.Compare(a.Reason, b.Reason), slices.CompareFunc(a.Frames, b.Frames, func(a, b Frame) int { return cmp.Compare(a.Func, b.Func) }))
	})
	out.Places = out.Places[:min(len(out.Places), keptPlaces)]
	return &out
}

// reasons gives the waits of a trace the names that the runtime has for them.
var reasons = []struct{ call, reason string }{
	{"internal/poll.runtime_pollWait", ReasonNetwork},
	{"time.Sleep", ReasonSleep},
	{"sync.(*RWMutex).RLock", "sync.RWMutex.RLock"},
	{"sync.(*RWMutex).Lock", "sync.RWMutex.Lock"},
	{"sync.(*Mutex)", "sync.Mutex.Lock"},
	{"internal/sync.(*Mutex)", "sync.Mutex.Lock"},
	{"internal/poll.(*fdMutex)", "sync.Mutex.Lock"},
	{"sync.(*WaitGroup)", "sync.WaitGroup.Wait"},
	{"sync.(*Cond)", "sync.Cond.Wait"},
	{"runtime.gcAssist", "GC"},
	{"runtime.gc", "GC"},
	{"runtime.chanrecv", "chan receive"},
	{"runtime.chansend", "chan send"},
	{"runtime.selectgo", "select"},
}

func reasonOf(reason string, frames []Frame) string {
	for _, f := range frames[:min(len(frames), 6)] {
		for _, r := range reasons {
			if strings.HasPrefix(f.Func, r.call) {
				return r.reason
			}
		}
	}
	switch reason {
	case "network":
		return ReasonNetwork
	case "":
		return "unknown"
	}
	return reason
}
