package evidence

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"golang.org/x/exp/trace"
)

const (
	// keptPlaces is how many places where goroutines waited are reported.
	keptPlaces = 200
	// distinctPlaces bounds how many places, and their stacks, are kept.
	distinctPlaces = 50_000
	// keptHolders is how many different goroutines' stacks are counted that ended
	// the waits of one place.
	keptHolders = 64
)

// A stackID is the number of a stack in a stackTable; 0 is the empty one.
type stackID int32

// A stackTable numbers the stacks of a trace by their frames.
type stackTable struct {
	all    []tracedStack
	number map[string]stackID
	cache  map[trace.Stack]stackID // of the generation at hand, which its keys keep in memory
	set    *stackSet               // numbers the frames
}

type tracedStack struct {
	frames []Frame
	lock   bool   // it waits for a lock
	aside  bool   // its goroutine is the runtime's, or does the measuring
	gc     bool   // it waits for the garbage collector
	reason string // what it waits for, where the trace does not say
}

func newStackTable() *stackTable {
	return &stackTable{
		all:    []tracedStack{{}, {frames: []Frame{{Func: otherFrames}}}},
		number: make(map[string]stackID),
		cache:  make(map[trace.Stack]stackID),
		set:    newStackSet(),
	}
}

// forget lets go of the generation that is over.
func (t *stackTable) forget() { clear(t.cache) }

func (t *stackTable) id(s trace.Stack) stackID {
	if s == trace.NoStack {
		return 0
	}
	if id, ok := t.cache[s]; ok {
		return id
	}
	id := t.find(s)
	t.cache[s] = id
	return id
}

func (t *stackTable) find(s trace.Stack) stackID {
	var frames []Frame
	for f := range s.Frames() {
		if len(frames) == deepest {
			break
		}
		frames = append(frames, Frame{Func: f.Func, File: base(f.File), Line: int(f.Line)})
	}
	if len(frames) == 0 {
		return 0
	}
	whole := frames
	frames = trimPark(frames)
	t.set.key = t.set.key[:0]
	t.set.number(frames)
	if id, ok := t.number[string(t.set.key)]; ok {
		return id
	}
	if len(t.all) >= distinctPlaces {
		return 1
	}
	id := stackID(len(t.all))
	t.number[string(t.set.key)] = id
	t.all = append(t.all, tracedStack{frames, isLock(whole), isAside(whole), isGC(whole), reasonOf(whole)})
	return id
}

// trimPark takes off the innermost frames, those of the runtime putting the
// goroutine to sleep, from the stack of one that slept when the trace began.
// The stacks of those that go to sleep during the trace come without them, and the
// place is the same.
func trimPark(frames []Frame) []Frame {
	if frames[0].Func != "runtime.gopark" {
		return frames
	}
	for i, f := range frames {
		if f.Func != "runtime.chanrecv" && f.Func != "runtime.chansend" &&
			!slices.ContainsFunc(parking, func(name string) bool { return strings.HasPrefix(f.Func, name) }) {
			return frames[i:]
		}
	}
	return frames
}

// parking begins the names of such frames.
var parking = []string{
	"runtime.gopark", "runtime.netpollblock", "internal/poll.runtime_", "internal/poll.(*pollDesc).",
	"runtime.semacquire", "sync.runtime_", "internal/sync.",
}

// isLock reports whether the innermost calls take a lock: one of package sync, or
// the one that lets one goroutine at a time write to a connection.
func isLock(frames []Frame) bool {
	for _, f := range frames[:min(len(frames), 6)] {
		for _, lock := range []string{"sync.(*Mutex).", "sync.(*RWMutex).", "internal/sync.(*Mutex).", "internal/poll.(*fdMutex)."} {
			if strings.HasPrefix(f.Func, lock) {
				return true
			}
		}
	}
	return false
}

// isGC reports whether the innermost calls are those of the garbage collector,
// which goroutines that allocate run into.
func isGC(frames []Frame) bool {
	for _, f := range frames[:min(len(frames), 3)] {
		if strings.HasPrefix(f.Func, "runtime.gc") {
			return true
		}
	}
	return false
}

// isAside reports by its stack whether a goroutine is no part of the work.
func isAside(frames []Frame) bool {
	first := frames[len(frames)-1].Func
	if first == "os/signal.loop" || strings.HasPrefix(first, "runtime.") && first != "runtime.main" {
		return true
	}
	return isMeasuring(frames)
}

// isAnnotation reports whether a function of the tools' packages is one that
// programs call around their own work.
func isAnnotation(name string) bool {
	_, name, _ = strings.Cut(name, ".")
	return slices.ContainsFunc([]string{"Do", "WithLabels", "SetGoroutineLabels", "WithRegion", "StartRegion", "NewTask", "Log", "(*Region).", "(*Task)."},
		func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// isMeasuring reports whether a stack is that of a tool at work: here in the child,
// or in a server that is asked for its profiles.
func isMeasuring(frames []Frame) bool {
	for _, f := range frames {
		for _, prefix := range []string{"net/http/pprof.", "runtime/trace.", "runtime/pprof."} {
			if strings.HasPrefix(f.Func, prefix) && !isAnnotation(f.Func) {
				return true
			}
		}
		for _, own := range []string{"evidence.(*parent).listen", "evidence.(*meteredFile).awaitFull", "evidence.writeProfile", "evidence.writeAllocs"} {
			if strings.HasSuffix(f.Func, "/diagnose/"+own) {
				return true
			}
		}
	}
	return false
}

// places are the waits by where they were.
type places map[placeKey]*place

type placeKey struct {
	reason string
	stack  stackID
}

type place struct {
	time, whileIO time.Duration
	count, open   int64
	holders       map[stackID]int64
}

func (ps places) at(reason string, stack stackID) *place {
	key := placeKey{reason, stack}
	p := ps[key]
	if p == nil {
		if len(ps) >= distinctPlaces {
			if key = (placeKey{otherFrames, 1}); ps[key] != nil {
				return ps[key]
			}
		}
		p = new(place)
		ps[key] = p
	}
	return p
}

func (p *place) add(took time.Duration, open bool) {
	p.time += took
	p.count++
	if open {
		p.open++
	}
}

func (p *place) endedBy(stack stackID) {
	if p.holders == nil {
		p.holders = make(map[stackID]int64)
	}
	if _, known := p.holders[stack]; known || len(p.holders) < keptHolders {
		p.holders[stack]++
	}
}

// list returns the places, where the longest time was spent first; those
// behind the first 200 become one.
func (ps places) list(stacks *stackTable) []Blocking {
	type entry struct {
		placeKey
		*place
	}
	var entries []entry
	for key, p := range ps {
		entries = append(entries, entry{key, p})
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.time, a.time), cmp.Compare(a.reason, b.reason), cmp.Compare(a.stack, b.stack))
	})
	out := make([]Blocking, 0, min(len(entries), keptPlaces+1))
	rest := Blocking{Reason: otherFrames, Frames: []Frame{{Func: otherFrames}}}
	for i, e := range entries {
		if i >= keptPlaces {
			rest.Time += e.time
			rest.Count += e.count
			rest.Open += e.open
			rest.WhileIO += e.whileIO
			continue
		}
		b := Blocking{Reason: e.reason, Time: e.time, Count: e.count, Open: e.open, Frames: stacks.all[e.stack].frames, WhileIO: e.whileIO}
		var most int64
		var holder stackID
		for id, n := range e.holders {
			if n > most || n == most && id < holder {
				most, holder = n, id
			}
		}
		b.Holder = stacks.all[holder].frames
		out = append(out, b)
	}
	if rest.Count > 0 {
		out = append(out, rest)
	}
	return out
}
