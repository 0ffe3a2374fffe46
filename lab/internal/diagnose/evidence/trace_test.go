package evidence

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestTraceOfALockHeldAsleep(t *testing.T) {
	w, err := readTrace(iotest.HalfReader(bytes.NewReader(recorded(t, "locked-sleep.trace"))))
	if err != nil {
		t.Fatal(err)
	}
	checkWaits(t, w)
	i := slices.IndexFunc(w.Places, func(p Place) bool { return LocksGoroutines(p.Reason) })
	if i < 0 {
		t.Fatalf("no wait for a lock among %+v", w.Places)
	}
	if p := w.Places[i]; p.Mean < 0.5 || p.WhileIO < 0.8 || p.Grew || !strings.HasSuffix(ownFuncs(p.Frames)[0], "locked") {
		t.Errorf("%+v", p)
	}
}

func TestATraceThatIsCutOffIsReadUntilThere(t *testing.T) {
	data := recorded(t, "locked-sleep.trace")
	for _, part := range []int{0, 5, 16, 100, len(data) / 2, len(data) - 1} {
		w, err := readTrace(bytes.NewReader(data[:part]))
		if err == nil {
			t.Errorf("of %d bytes, %d are a whole trace", len(data), part)
		}
		if w != nil {
			checkWaits(t, w)
		}
	}
	if _, err := readTrace(strings.NewReader("go 1.11 trace\x00\x00\x00 and so on")); err == nil || !strings.Contains(err.Error(), "1.22") {
		t.Errorf("an old trace: %v", err)
	}
	if _, err := readTrace(iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a reader's error became %v", err)
	}
}

func FuzzTrace(f *testing.F) {
	f.Add(recorded(f, "tiny.trace")) // large ones take the fuzzer minutes to make smaller
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := readTrace(bytes.NewReader(data))
		if w == nil {
			if err == nil {
				t.Fatal("neither a trace nor an error")
			}
			return
		}
		checkWaits(t, w)
	})
}

func checkWaits(t *testing.T, w *Waits) {
	t.Helper()
	if w.Samples < 1 || w.Took < 0 || len(w.Places) > keptPlaces {
		t.Fatalf("%+v", w)
	}
	for _, p := range w.Places {
		if p.Mean < 0 || p.First < 0 || p.Last < 0 || p.WhileIO < 0 || p.WhileIO > 1 || p.Reason == "" {
			t.Fatalf("%+v", p)
		}
	}
}

// at is what a goroutine does, a state, a reason and a stack.
func at(state goState, reason string, stack []Frame) moment {
	return moment{state: state, reason: reason, frames: stack}
}

func all(list ...moment) crowd {
	now := crowd{}
	for _, m := range list {
		now.add(m.state, m.reason, m.frames)
	}
	return now
}

func TestTheHolderOfALock(t *testing.T) {
	locked := stackOf("main.save", "main.handle")
	inIO := stackOf("internal/poll.(*FD).Fsync", "main.save", "main.handle")
	elsewhere := stackOf("internal/poll.(*FD).Read", "main.load", "main.handle")
	handler, working := stackOf("main.record", "net/http.(*conn).serve"), at(goRunning, "", nil)
	for name, c := range map[string]struct {
		now  []moment
		want float64
	}{
		"in I/O":                {[]moment{at(goWaiting, "sync.Mutex.Lock", locked), at(goSyscall, ReasonSyscall, inIO)}, 1},
		"computes":              {[]moment{at(goWaiting, "sync.Mutex.Lock", locked), working}, 0},
		"I/O of the caller":     {[]moment{working, at(goWaiting, "sync.Mutex.Lock", locked), at(goWaiting, ReasonNetwork, stackOf("net.read", "main.handle"))}, 0},
		"of a caller's caller":  {[]moment{working, at(goWaiting, "sync.Mutex.Lock", locked), at(goWaiting, ReasonNetwork, stackOf("net.read", "main.handle", "main.serve"))}, 0},
		"I/O of others":         {[]moment{working, at(goWaiting, "sync.Mutex.Lock", locked), at(goWaiting, ReasonNetwork, elsewhere)}, 0},
		"two at once hold none": {[]moment{working, at(goWaiting, "sync.Mutex.Lock", locked), at(goSyscall, ReasonSyscall, inIO), at(goSyscall, ReasonSyscall, inIO)}, 0},
		"readers asleep":        {[]moment{at(goWaiting, "sync.RWMutex.Lock", locked), at(goWaiting, ReasonSleep, elsewhere), at(goWaiting, ReasonSleep, elsewhere)}, 1},
		"a pool that waits":     {[]moment{at(goWaiting, "chan receive", stackOf("main.worker")), at(goWaiting, ReasonNetwork, stackOf("net.read", "main.worker"))}, 0},
		"a receiver asleep":     {[]moment{at(goWaiting, "chan send", handler), at(goWaiting, ReasonSleep, stackOf("time.Sleep", "main.audit"))}, 1},
		"a receiver at work":    {[]moment{at(goWaiting, "chan send", handler), at(goRunning, "", stackOf("main.audit"))}, 0},
		"a generator":           {[]moment{at(goWaiting, "chan send", stackOf("main.ids")), at(goWaiting, ReasonNetwork, elsewhere)}, 0},
		"a channel as the lock": {[]moment{at(goWaiting, "chan send", locked), at(goSyscall, ReasonSyscall, inIO)}, 1},
	} {
		w := newWaitSet()
		w.add(all(c.now...))
		i := slices.IndexFunc(w.sum(1).Places, func(p Place) bool {
			return p.Reason != ReasonSyscall && p.Reason != ReasonNetwork && p.Reason != ReasonSleep
		})
		if got := w.sum(1).Places[i].WhileIO; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Goroutines that wait in one function while as many others as always are in I/O below it: for one of two connections,
// with others each time that come from elsewhere or begin for it; or for work, of which there is as much.
func TestAPoolWhoseConnectionsAreAllInUse(t *testing.T) {
	waits, inIO, elsewhere := stackOf("main.ask", "main.handle"), stackOf("net.read", "main.ask", "main.handle"), stackOf("net.read", "main.handle")
	for name, c := range map[string]struct {
		reason     string
		busy, want int
		who        func(moment, place int) uint64
		leave      bool
	}{
		"for a connection":             {"chan receive", 2, 2, func(m, i int) uint64 { return uint64((m + i) % 8) }, true},
		"for one of a database":        {"select", 3, 3, func(m, i int) uint64 { return uint64(8*m + i) }, false},
		"for work":                     {"chan receive", 2, 0, func(m, i int) uint64 { return uint64((m + i) % 7) }, false},
		"for work, of which is little": {"chan receive", 1, 0, func(m, i int) uint64 { return uint64((m + i) % 7) }, false},
		"for locks":                    {"sync.Mutex.Lock", 2, 0, func(m, i int) uint64 { return uint64((m + i) % 8) }, true},
	} {
		w := newWaitSet()
		for m := range 20 {
			now := crowd{}
			now.add(goRunning, "", nil)
			for i := range 7 {
				if i < c.busy {
					now.add(goWaiting, ReasonNetwork, inIO, c.who(m, i))
				} else {
					now.add(goWaiting, c.reason, waits, c.who(m, i))
				}
			}
			if c.leave {
				now.add(goWaiting, ReasonNetwork, elsewhere, c.who(m, 7))
			}
			w.add(now)
		}
		for _, p := range w.sum(1).Places {
			if p.Reason == c.reason && (p.Pool != c.want || p.WhileIO != 0) {
				t.Errorf("%s: %d in use, not %d; in I/O for %v", name, p.Pool, c.want, p.WhileIO)
			}
		}
	}
}

// Who asks by HTTP waits for a goroutine of the client's, which reads the answer: with two connections two do, and the
// others wait in the same function for one of them.
func TestAPoolOfAnHTTPClient(t *testing.T) {
	waits, asks := stackOf("net/http.(*Transport).getConn", "main.handle", "net/http.(*conn).serve"), stackOf("net/http.(*persistConn).roundTrip", "main.handle", "net/http.(*conn).serve")
	w := newWaitSet()
	for m := range 20 {
		now := crowd{}
		now.add(goWaiting, ReasonNetwork, stackOf("net.read", "net/http.(*conn).serve"), uint64(m%8))
		for i := range 7 {
			stack := waits
			if i < 2 {
				stack = asks
			}
			now.add(goWaiting, "select", stack, uint64((m+i+1)%8))
		}
		w.add(now)
	}
	for _, p := range w.sum(1).Places {
		if want := map[string]int{waits[0].Func: 2}[p.Frames[0].Func]; p.Pool != want || p.WhileIO != 0 {
			t.Errorf("%s: %d in use, not %d; in I/O for %v", p.Frames[0].Func, p.Pool, want, p.WhileIO)
		}
	}
}

func TestAPlaceGrows(t *testing.T) {
	leak, steady := stackOf("main.lost"), stackOf("main.steady")
	for name, c := range map[string]struct {
		counts []int
		want   bool
	}{
		"more and more": {[]int{0, 20, 40, 60, 80}, true},
		"a burst":       {[]int{0, 80, 80, 0, 60}, false},
		"few":           {[]int{0, 5, 10, 15, 20}, false},
		"steady":        {[]int{80, 80, 80, 80, 80}, false},
	} {
		w := newWaitSet()
		for _, n := range c.counts {
			now := []moment{at(goWaiting, "chan send", steady)}
			for range n {
				now = append(now, at(goWaiting, "chan send", leak))
			}
			w.add(all(now...))
		}
		got := w.sum(1)
		if grew := slices.ContainsFunc(got.Places, func(p Place) bool { return p.Grew }); grew != c.want || got.Last != c.counts[4]+1 {
			t.Errorf("%s: %v, %+v", name, grew, got)
		}
	}
}

// Of handlers of requests that wait for one place, one works at a time; of those that wait for what is outside as many
// as it happens. Those of a pool never leave the function that they wait in.
func TestTheOneThatHasWhatOthersWaitFor(t *testing.T) {
	handler, worker := stackOf("main.compute", "main.handle", "net/http.(*conn).serve"), stackOf("main.take", "main.worker")
	reads := stackOf("net.read", "net/http.(*conn).serve")
	for name, c := range map[string]struct {
		reason  string
		waits   []Frame
		working []int // at one moment after the other
		leaves  bool
		serves  bool
		alone   bool
	}{
		"a token":            {"chan receive", handler, []int{1}, true, true, true},
		"a condition":        {"sync.Cond.Wait", handler, []int{1, 1, 1, 2}, true, true, true},
		"answers of another": {"chan receive", handler, []int{0, 1, 2, 3, 1, 0, 4}, true, true, false},
		"one that stays":     {"chan receive", handler, []int{1}, false, false, true},
		"a pool":             {"chan receive", worker, []int{1}, false, false, false},
		"asleep":             {ReasonSleep, handler, []int{1}, true, true, false},
	} {
		w := newWaitSet()
		for m := range 40 {
			now := crowd{}
			for i := range 8 {
				id := uint64((m + i) % 8)
				switch {
				case i < c.working[m%len(c.working)]:
					now.add(goRunning, "", nil, id)
				case i == 7 && c.leaves:
					now.add(goWaiting, ReasonNetwork, reads, id)
				default:
					now.add(goWaiting, c.reason, c.waits, id)
				}
			}
			w.add(now)
		}
		for _, p := range w.sum(1).Places {
			if p.Reason == c.reason && (p.Serves != c.serves || (p.Alone > 0.5) != c.alone) {
				t.Errorf("%s: of requests: %v, one works for %v", name, p.Serves, p.Alone)
			}
		}
	}
}

func TestWhatProgramsCallOfTheRuntimeStays(t *testing.T) {
	for _, c := range []struct{ first, want string }{
		{"runtime.GC", "runtime.GC"}, {"runtime.ReadMemStats", "runtime.ReadMemStats"},
		{"runtime.chanrecv1", "main.handle"}, {"runtime.(*timer).park", "main.handle"}, {"sync.runtime_SemacquireMutex", "main.handle"},
	} {
		if got := trimPark(stackOf("runtime.gopark", c.first, "main.handle"))[0].Func; got != c.want {
			t.Errorf("below %s: %s", c.first, got)
		}
	}
}
