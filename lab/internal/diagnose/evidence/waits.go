package evidence

import (
	"cmp"
	"regexp"
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
	frames []Frame  // innermost first; kept by the caller, one slice for one stack
	count  int      // goroutines
	who    []uint64 // of those, as far as they are known
}

// A crowd is what all goroutines do at one moment: those that do the same are one in it.
type crowd map[doing]*moment

type doing struct {
	state  goState
	reason string
	stack  *Frame // the first of it
}

func (c crowd) add(state goState, reason string, frames []Frame, who ...uint64) *moment {
	key := doing{state: state, reason: reason}
	if len(frames) > 0 {
		key.stack = &frames[0]
	}
	if c[key] == nil {
		c[key] = &moment{state: state, reason: reason, frames: frames}
	}
	c[key].count++
	c[key].who = append(c[key].who, who...)
	return c[key]
}

type waitSet struct {
	waits  Waits
	places map[string]*placeTally
	keys   map[*Frame]string // of stacks seen before
	own    map[*Frame][]string
	seen   map[uint64][]*placeTally // where each goroutine was
}

type placeTally struct {
	Place
	sum      int
	here     int // at the moment
	works    int // of those that have waited here, how many work or are ready at the moment
	alone    int // moments in which goroutines waited here and one of those worked
	shrank   bool
	withWait int         // moments in which goroutines waited here
	inIO     map[int]int // those by how many others were in I/O; one where none worked: then the holder of a lock does not
	most     int         // at one of them, with those in I/O
}

func newWaitSet() *waitSet {
	return &waitSet{places: map[string]*placeTally{}, keys: map[*Frame]string{}, own: map[*Frame][]string{}, seen: map[uint64][]*placeTally{}}
}

// add takes what all goroutines do at one moment. Frames are kept.
func (w *waitSet) add(now crowd) {
	total, works := 0, false
	var calls []*moment
	w.waits.Samples++
	for _, p := range w.places {
		p.here, p.works = 0, 0
	}
	for _, m := range now {
		total += m.count
		works = works || m.state == goRunning || m.state == goRunnable
		sum := [...]*float64{goRunning: &w.waits.Running, goRunnable: &w.waits.Runnable, goSyscall: &w.waits.Syscall, goWaiting: &w.waits.Waiting}[m.state]
		*sum += float64(m.count)
		if len(m.frames) > 0 && (m.state == goSyscall || outside(m.reason, m.frames)) {
			calls = append(calls, m)
		}
		if m.state == goRunning || m.state == goRunnable {
			for _, id := range m.who {
				for _, p := range w.seen[id] {
					p.works++
				}
			}
		} else {
			p := w.at(*m)
			p.here += m.count
			for _, id := range m.who {
				if list := w.seen[id]; !slices.Contains(list, p) && (list != nil || len(w.seen) < distinctPlaces) {
					w.seen[id] = append(list, p)
				}
			}
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
		if p.here > 0 && len(p.Frames) > 0 && !outside(p.Reason, p.Frames) {
			if p.withWait++; p.works == 1 {
				p.alone++
			}
			n := w.inIO(&p.Place, calls)
			sends := n == 0 && p.Reason == "chan send" && !p.Frames[len(p.Frames)-1].Own()
			if p.most = max(p.most, p.here+n); !works && (sends || LocksGoroutines(p.Reason)) {
				n = 1
			}
			p.inIO[n]++
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
		p = &placeTally{Place: Place{Reason: m.reason, Frames: m.frames}, inIO: map[int]int{}}
		w.places[key] = p
	}
	return p
}

// outside reports whether goroutines wait for what is outside of the program: in I/O, asleep, or in a client of HTTP or
// gRPC, of which another goroutine reads the answers.
func outside(reason string, frames []Frame) bool {
	return reason == ReasonNetwork || reason == ReasonSleep || reason == ReasonSyscall ||
		reason == "select" && slices.ContainsFunc(frames, func(f Frame) bool { return asksAnother(f.Func) })
}

var asksAnother = regexp.MustCompile(`^((net/http|golang\.org/x/net/http2)\.\(\*(persistConn|(http2)?ClientConn)\)\.roundTrip|google\.golang\.org/grpc\.\(\*clientStream\)\.\w+)$`).MatchString

// inIO counts those of the goroutines in I/O or asleep that are below the function in which those at p wait. Where the lock
// is held meanwhile there is one: a second could not be there.
func (w *waitSet) inIO(p *Place, calls []*moment) int {
	waiting := w.ownOf(p.Frames)
	if len(waiting) == 0 || p.Frames[len(p.Frames)-1].Own() && len(waiting) == 1 && !LocksGoroutines(p.Reason) {
		return 0 // a pool's goroutines wait for work where they began
	}
	n := 0
	for _, m := range calls {
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

// passes reports whether goroutines that wait at p come to a function that is below them from elsewhere and go on: those
// of a pool that wait for work have it below them all the time.
func (w *waitSet) passes(p *placeTally, fn string) bool {
	waited, left := 0, 0
	for _, places := range w.seen {
		if slices.Contains(places, p) {
			waited++
			if slices.ContainsFunc(places, func(o *placeTally) bool {
				return len(o.Frames) > 0 && !slices.Contains(w.ownOf(o.Frames), fn)
			}) {
				left++
			}
		}
	}
	return 2*max(left, waited-p.most) >= waited
}

// likePool is the part of the moments in which as many goroutines are in I/O from which on they are taken for those
// that have all of something.
const likePool = 0.6

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
		locks := LocksGoroutines(p.Reason)
		if len(p.Frames) > 0 && !p.Frames[len(p.Frames)-1].Own() {
			own := w.ownOf(p.Frames)
			p.Serves = len(own) > 0 && w.passes(p, own[len(own)-1])
			p.Alone = float64(p.alone) / float64(max(1, p.withWait))
		}
		for n, moments := range p.inIO { // n is not 0 only below a function
			switch part := float64(moments) / float64(p.withWait); {
			case n == 0 || !locks && !w.passes(p, w.ownOf(p.Frames)[0]):
			case n == 1:
				p.WhileIO = part
			case !locks && part >= likePool:
				p.Pool = n
			}
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
