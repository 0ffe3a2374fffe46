package evidence

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/exp/trace"
)

func recordedTrace(t *testing.T, name string) *Trace {
	t.Helper()
	tr, err := readTrace(iotest.HalfReader(bytes.NewReader(recorded(t, name))))
	if err != nil {
		t.Fatal(err)
	}
	checkTrace(t, tr)
	return tr
}

// waitIn finds where goroutines waited for a reason in a function.
func waitIn(t *testing.T, tr *Trace, reason, name string) Blocking {
	t.Helper()
	i := slices.IndexFunc(tr.Blocked, func(b Blocking) bool {
		return b.Reason == reason && slices.ContainsFunc(b.Frames, func(f Frame) bool { return strings.HasSuffix(f.Func, name) })
	})
	if i < 0 {
		t.Fatalf("nobody waited for %s in %s: %+v", reason, name, tr.Blocked)
	}
	return tr.Blocked[i]
}

func TestTraceOfALockHeldAsleep(t *testing.T) {
	tr := recordedTrace(t, "locked-sleep.trace")
	lock := waitIn(t, tr, "sync", "evidence.(*lockers).locked")
	// Four goroutines: three of them wait while one sleeps.
	if lock.Time < 2*tr.Took || lock.Time > 4*tr.Took || lock.WhileIO < lock.Time*8/10 || lock.WhileIO > lock.Time {
		t.Errorf("waited %v, %v of it while the holder slept, in a trace of %v", lock.Time, lock.WhileIO, tr.Took)
	}
	if len(lock.Holder) == 0 || lock.Holder[0].Func != "sync.(*Mutex).Unlock" {
		t.Errorf("waits were ended by %v", lock.Holder)
	}
	if last := lock.Frames[len(lock.Frames)-1]; last.Func != "sync.(*WaitGroup).Go.func1" || last.File != "waitgroup.go" {
		t.Errorf("the stack ends in %+v", last)
	}
	if sleep := waitIn(t, tr, "sleep", "evidence.(*lockers).locked"); sleep.WhileIO != 0 {
		t.Errorf("sleeping counts as waiting for somebody who sleeps: %+v", sleep)
	}
	// That the runner waits for its goroutines is no wait for a lock.
	if all := waitIn(t, tr, "sync", "evidence.(*loop).round"); all.WhileIO != 0 {
		t.Errorf("%+v", all)
	}
	if tr.Procs != 2 || tr.Latency.Count < 100 || tr.Latency.P50 > tr.Latency.P99 || tr.Latency.P99 > tr.Latency.Max || tr.GCs != 0 {
		t.Errorf("%d processors, latency %+v, %d collections", tr.Procs, tr.Latency, tr.GCs)
	}
}

func TestTraceOfCollections(t *testing.T) {
	tr := recordedTrace(t, "collections.trace")
	if tr.GCs == 0 || tr.GC <= 0 || tr.GC > tr.Took || tr.GCWork <= 0 || tr.Stopped <= 0 || tr.Stopped > tr.Took || tr.GCIdle > tr.GCWork {
		t.Errorf("%d collections in %v: %v under way, %v of work, %v of it idle, %v stopped", tr.GCs, tr.Took, tr.GC, tr.GCWork, tr.GCIdle, tr.Stopped)
	}
	if tr.Running <= 0 || tr.Running > tr.Took*time.Duration(tr.Procs) {
		t.Errorf("ran for %v in %v", tr.Running, tr.Took)
	}
}

func TestATraceThatIsCutOffIsReadUntilThere(t *testing.T) {
	data := recorded(t, "locked-sleep.trace")
	for _, part := range []int{0, 5, 16, 100, len(data) / 2, len(data) - 1} {
		tr, err := readTrace(bytes.NewReader(data[:part]))
		if err == nil {
			t.Errorf("of %d bytes, %d are a whole trace", len(data), part)
		}
		if tr != nil {
			checkTrace(t, tr)
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
		tr, err := readTrace(bytes.NewReader(data))
		if tr == nil {
			if err == nil {
				t.Fatal("neither a trace nor an error")
			}
			return
		}
		checkTrace(t, tr)
	})
}

func checkTrace(t *testing.T, tr *Trace) {
	t.Helper()
	if len(tr.Blocked) > keptPlaces+1 || len(tr.InSyscall) > keptPlaces+1 {
		t.Fatalf("%d and %d places", len(tr.Blocked), len(tr.InSyscall))
	}
	for _, list := range [][]Blocking{tr.Blocked, tr.InSyscall} {
		for _, b := range list {
			if b.Time < 0 || b.WhileIO < 0 || b.Count <= 0 || b.Open > b.Count || len(b.Frames) > deepest {
				t.Fatalf("%+v", b)
			}
		}
	}
}

// A script makes the events of a trace, in nanoseconds.
type script struct {
	t         *testing.T
	f         *follower
	addresses map[string]uint64
}

func newScript(t *testing.T) *script { return &script{t, newFollower(), make(map[string]uint64)} }

// change moves goroutine g; by is the goroutine that the event happens on.
func (s *script) change(at trace.Time, by, g trace.GoID, from, to trace.GoState, reason string, stack ...string) {
	s.t.Helper()
	change := trace.MakeGoStateTransition(g, from, to)
	change.Reason = reason
	change.Stack = s.stack(stack...)
	// A goroutine that is made ready has another's stack in its event, all others
	// their own.
	own := change.Stack
	if from == trace.GoWaiting && by != trace.NoGoroutine {
		own = s.stack("sync.(*Mutex).Unlock", "main.holder")
	}
	e, err := trace.MakeEvent(trace.EventConfig[trace.StateTransition]{
		Time: at, Kind: trace.EventStateTransition, Goroutine: by, Proc: 0, Thread: 0,
		Stack: own, Details: change,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.f.event(e)
}

// stack makes a stack; the library distinguishes frames by their addresses.
func (s *script) stack(names ...string) trace.Stack {
	frames := make([]trace.StackFrame, len(names))
	for i, name := range names {
		if s.addresses[name] == 0 {
			s.addresses[name] = uint64(len(s.addresses) + 1)
		}
		frames[i] = trace.StackFrame{Func: name, PC: s.addresses[name]}
	}
	return trace.MakeStack(frames)
}

func (s *script) runs(at trace.Time, g trace.GoID) {
	s.t.Helper()
	s.change(at, trace.NoGoroutine, g, trace.GoUndetermined, trace.GoRunning, "")
}

func (s *script) waits(at trace.Time, g trace.GoID, reason string, stack ...string) {
	s.t.Helper()
	s.change(at, g, g, trace.GoRunning, trace.GoWaiting, reason, stack...)
}

func (s *script) woken(at trace.Time, by, g trace.GoID) {
	s.t.Helper()
	s.change(at, by, g, trace.GoWaiting, trace.GoRunnable, "")
	s.change(at, trace.NoGoroutine, g, trace.GoRunnable, trace.GoRunning, "")
}

var lockStack = []string{"sync.(*Mutex).Lock", "main.worker"}

func TestWhileIOIsWhatTheHolderWaited(t *testing.T) {
	s := newScript(t)
	for g := trace.GoID(1); g <= 3; g++ {
		s.runs(0, g)
	}
	// 1 reads from the network before it takes the lock, then sleeps in it; 2 comes while
	// it sleeps, 3 after that, while it computes.
	s.waits(100, 1, "network", "internal/poll.(*FD).Read", "main.read")
	s.woken(200, trace.NoGoroutine, 1)
	s.waits(300, 1, "sleep", "time.Sleep", "main.hold")
	s.waits(400, 2, "sync", lockStack...)
	s.woken(700, trace.NoGoroutine, 1)
	s.waits(800, 3, "sync", lockStack...)
	s.woken(1000, 1, 2) // 600 waited, 300 of it asleep
	s.waits(1100, 2, "network", "internal/poll.(*FD).Write", "main.write")
	s.woken(1500, trace.NoGoroutine, 2)
	s.woken(1600, 2, 3) // 800 waited: 200 for 1, which computed, then 600 for 2, 400 of it in I/O

	b := waitIn(t, s.f.finish(), "sync", "main.worker")
	if b.Time != 1400 || b.Count != 2 || b.WhileIO != 700 || b.Open != 0 {
		t.Errorf("%+v", b)
	}
	if len(b.Holder) != 2 || b.Holder[1].Func != "main.holder" {
		t.Errorf("ended by %v", b.Holder)
	}
}

func TestWhoQueuesBehindOthersWaitsForAllOfThem(t *testing.T) {
	s := newScript(t)
	for g := trace.GoID(1); g <= 4; g++ {
		s.runs(0, g)
	}
	// All want the lock at once; one after the other sleeps 100 while holding it, then ends.
	for g := trace.GoID(2); g <= 4; g++ {
		s.waits(0, g, "sync", lockStack...)
	}
	for g := trace.GoID(1); g <= 3; g++ {
		at := trace.Time(100 * (g - 1))
		s.waits(at, g, "sleep", "time.Sleep")
		s.woken(at+100, trace.NoGoroutine, g)
		s.woken(at+100, g, g+1)
		s.change(at+100, g, g, trace.GoRunning, trace.GoNotExist, "")
	}
	if b := waitIn(t, s.f.finish(), "sync", "main.worker"); b.Time != 600 || b.WhileIO != 600 {
		t.Errorf("waited %v, %v of it for sleepers", b.Time, b.WhileIO)
	}
}

func TestALockThatIsBusyWithoutIO(t *testing.T) {
	s := newScript(t)
	s.runs(0, 1)
	s.runs(0, 2)
	s.waits(10, 2, "sync", lockStack...)
	s.woken(500, 1, 2)
	if b := waitIn(t, s.f.finish(), "sync", "main.worker"); b.Time != 490 || b.WhileIO != 0 {
		t.Errorf("%+v", b)
	}
}

func TestGoroutinesThatEndedAreForgottenInTheEnd(t *testing.T) {
	s := newScript(t)
	for g := trace.GoID(1); g <= 5*buried; g++ {
		s.change(trace.Time(g), trace.NoGoroutine, g, trace.GoNotExist, trace.GoRunnable, "", "main.short")
		s.change(trace.Time(g), trace.NoGoroutine, g, trace.GoRunnable, trace.GoRunning, "")
		s.change(trace.Time(g), g, g, trace.GoRunning, trace.GoNotExist, "")
	}
	if n := len(s.f.goroutines); n > 2*buried {
		t.Errorf("%d goroutines are remembered", n)
	}
	if tr := s.f.finish(); tr.Latency.Count != 5*buried {
		t.Errorf("%+v", tr.Latency)
	}
}

func TestMeasuringIsToldFromWhatIsMeasured(t *testing.T) {
	for _, name := range []string{"net/http/pprof.Trace", "runtime/trace.Start.func1", "runtime/pprof.profileWriter", "runtime/pprof.(*profileBuilder).build",
		"github.com/sluice-go/sluice/lab/internal/diagnose/evidence.(*parent).listen"} {
		if !isMeasuring(stackOf("read", name, "main.main")) {
			t.Errorf("%s counts as the workload's", name)
		}
	}
	for _, name := range []string{"runtime/pprof.Do", "runtime/trace.WithRegion", "runtime/trace.(*Region).End", "runtime/trace.StartRegion", "runtime/debug.FreeOSMemory",
		"github.com/sluice-go/sluice/lab/internal/diagnose/evidence.(*loop).round"} {
		if isMeasuring(stackOf("read", name, "main.main")) {
			t.Errorf("%s does not count as the workload's", name)
		}
	}
}

func TestTheRuntimesGoroutinesAreNoPartOfTheWork(t *testing.T) {
	s := newScript(t)
	s.runs(0, 1)
	s.waits(10, 1, "system goroutine wait", "runtime.gcBgMarkWorker")
	s.change(500, trace.NoGoroutine, 2, trace.GoUndetermined, trace.GoWaiting, "", "net/http/pprof.Trace", "net/http.(*conn).serve")
	s.change(500, trace.NoGoroutine, 3, trace.GoUndetermined, trace.GoWaiting, "", "internal/poll.runtime_pollWait", "main.serve")
	// The frames of going to sleep are taken off: the place is that of later waits.
	s.change(600, trace.NoGoroutine, 4, trace.GoUndetermined, trace.GoWaiting, "", "runtime.gopark", "runtime.netpollblock", "internal/poll.runtime_pollWait", "internal/poll.(*pollDesc).waitRead", "internal/poll.(*FD).Read", "main.read")
	if own := s.f.stacks.all[s.f.goroutines[4].stack]; own.frames[0].Func != "internal/poll.(*FD).Read" || own.reason != "network" {
		t.Errorf("%+v", own)
	}
	delete(s.f.goroutines, 4)
	tr := s.f.finish()
	if len(tr.Blocked) != 1 || tr.Blocked[0].Reason != "network" || tr.Blocked[0].Open != 1 || tr.Blocked[0].Time != 600 {
		t.Errorf("%+v", tr.Blocked)
	}
}
