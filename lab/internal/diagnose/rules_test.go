package diagnose

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
)

// all are tools that have all seen something.
func all() []evidence.Tool {
	var list []evidence.Tool
	for _, name := range evidence.Tools() {
		list = append(list, evidence.Tool{Name: name, State: evidence.OK})
	}
	return list
}

// profile is one of a hundred samples, with a part of them in a stack.
func profile(part float64, stack ...string) *evidence.Profile {
	frames := []evidence.Frame{}
	for _, fn := range stack {
		frames = append(frames, evidence.Frame{Func: fn})
	}
	n := int64(part * 100)
	return &evidence.Profile{Unit: "ns", Total: 1e9, Stacks: []evidence.Stack{
		{Value: n * 1e7, Count: n, Frames: frames},
		{Value: (100 - n) * 1e7, Count: 100 - n, Frames: []evidence.Frame{{Func: "main.work"}}},
	}}
}

func TestNothingSeenIsUndecided(t *testing.T) {
	for name, e := range map[string]*evidence.Evidence{
		"nothing":    {},
		"no tool":    {Took: time.Second, CPUTime: time.Second, Tools: []evidence.Tool{{Name: evidence.ToolStrace, State: evidence.Missing, Note: "strace is not installed"}}},
		"few sample": {Took: time.Second, CPUTime: time.Second, Tools: all(), CPU: &evidence.Profile{Unit: "ns", Total: 1e7, Stacks: []evidence.Stack{{Value: 1e7, Count: 1, Frames: []evidence.Frame{{Func: "main.f"}}}}}},
	} {
		findings, open := Diagnose(e)
		d := Diagnosis{Findings: findings, Open: open, Evidence: *e}
		if d.Verdict() != Undecided {
			t.Errorf("%s: %s, %+v", name, d.Verdict(), findings)
		}
		for _, o := range open {
			if o.Why == "" {
				t.Errorf("%s: %s is open without a reason", name, o.Rule)
			}
		}
	}
}

func TestAnIdleProgramCannotLoseProcessorTime(t *testing.T) {
	e := &evidence.Evidence{Took: time.Second, CPUTime: time.Millisecond, Go: "go1.26", Waits: &evidence.Waits{Took: time.Second, Samples: 100}, Calls: &evidence.Calls{Took: time.Second}}
	for _, tool := range []string{evidence.ToolProc, evidence.ToolGoroutines, evidence.ToolStrace} {
		e.Tools = append(e.Tools, evidence.Tool{Name: tool, State: evidence.OK})
	}
	findings, open := Diagnose(e)
	if d := (Diagnosis{Findings: findings, Open: open}); d.Verdict() != Clean {
		t.Errorf("%s: %+v", d.Verdict(), open)
	}
}

// Go's collector yields in passing, which is no spinning of the program.
func TestACollectorThatYieldsDoesNotSpin(t *testing.T) {
	for _, c := range []struct {
		stack []string
		want  bool
	}{
		{[]string{"runtime.gosched_m", "runtime.mcall"}, false},
		{[]string{"runtime.Gosched", "runtime.gcAssistAlloc", "runtime.mallocgc", "main.build"}, false},
		{[]string{"runtime.gosched_m", "runtime.goschedIfBusy", "runtime.bgsweep"}, false},
		{[]string{"runtime.Gosched", "main.spin"}, true},
	} {
		e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), Go: "go1.26", Waits: &evidence.Waits{}, Calls: &evidence.Calls{}, CPU: profile(0.2, c.stack...)}
		findings, _ := Diagnose(e)
		if got := slices.ContainsFunc(findings, func(f Finding) bool { return f.Rule == "busy-spin" && f.Score > 0 }); got != c.want {
			t.Errorf("%v: spins: %v", c.stack, got)
		}
	}
}

func TestAProgramThatGotNoProcessorIsNotIdle(t *testing.T) {
	e := &evidence.Evidence{Took: time.Second, Go: "go1.26", CPU: profile(0.5, "main.f"), Tools: []evidence.Tool{{Name: evidence.ToolCPU, State: evidence.OK}}}
	e.CPU.Total, e.CPU.Stacks = 1e8, e.CPU.Stacks[:1]
	if _, open := Diagnose(e); len(open) < 8 {
		t.Errorf("from 100 ms of processor time in a second of a busy machine only %+v is left open", open)
	}
}

func TestSharingIsOpenWhereThreadsDidNotRunTogether(t *testing.T) {
	e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), CPU: profile(0.9, "main.count"), Waits: &evidence.Waits{}, Calls: &evidence.Calls{},
		Sharing: &evidence.Sharing{Samples: 1000, Parallel: 0.05, Shared: 0.05, Where: &evidence.Frame{Func: "main.count"}}}
	findings, open := Diagnose(e)
	if f, ok := First(findings); ok || len(open) != 1 || open[0].Rule != "shared-line" || !strings.Contains(open[0].Why, "others") {
		t.Errorf("%+v, %+v", f, open)
	}
	one := *e
	one.Waits, one.Calls = nil, &evidence.Calls{Took: time.Second, LockTime: 4 * time.Second}
	findings, open = Diagnose(&one)
	if f, ok := First(findings); !ok || f.Rule != "lock-contention" || len(open) > 0 {
		t.Errorf("threads that run one after the other since they wait for a lock: %+v, open %+v", f, open)
	}
	e.Sharing.Parallel, e.Sharing.Shared = 0.8, 0.7
	if f, ok := First(first(Diagnose(e))); !ok || f.Rule != "shared-line" {
		t.Errorf("%+v", f)
	}
	e.Sharing.Shared = 0.05
	if f, ok := First(first(Diagnose(e))); ok {
		t.Errorf("%+v", f)
	}
}

func first(findings []Finding, _ []Open) []Finding { return findings }

// writes are calls of 64 bytes, so many of them after another.
func writes(again int64) *evidence.Calls {
	return &evidence.Calls{Took: time.Second, Total: 1000, ByName: []evidence.Call{{Name: "write", Count: 1000, Bytes: 64_000, Again: again,
		Sizes: []evidence.Size{{Bytes: 64, Count: 1000}}, Asked: []evidence.Size{{Bytes: 64, Count: 1000}}}}}
}

func TestSmallWritesOfADialogueAreNoFault(t *testing.T) {
	e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), CPU: profile(0.8, "syscall.write", "internal/poll.(*FD).Write", "main.send"), Waits: &evidence.Waits{}, Calls: writes(990), Sharing: &evidence.Sharing{}}
	if f, ok := First(first(Diagnose(e))); !ok || f.Rule != "small-writes" || f.Top != "main.send" {
		t.Errorf("%+v", f)
	}
	e.Calls = writes(10)
	if f, ok := First(first(Diagnose(e))); ok {
		t.Errorf("%+v", f)
	}
}

// Of a loop that asks for what comes now and then, the few bytes that come are no small reads.
func TestReadsThatFindNothingAreNoSmallReads(t *testing.T) {
	for failed, want := range map[int64]string{0: "small-reads", 70_000: "empty-polls"} {
		e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), CPU: profile(0.9, "syscall.read", "internal/poll.(*FD).Read", "main.ask"), Waits: &evidence.Waits{}, Sharing: &evidence.Sharing{},
			Calls: &evidence.Calls{Took: time.Second, Total: 1000 + failed, ByName: []evidence.Call{{Name: "read", Count: 1000 + failed, Errors: failed, Again: 990, Bytes: 5000,
				Sizes: []evidence.Size{{Bytes: 5, Count: 1000}}, Asked: []evidence.Size{{Bytes: 64, Count: 1000}}}}}}
		for _, f := range first(Diagnose(e)) {
			if f.Score >= Significant && f.Rule != want {
				t.Errorf("%d found nothing: %+v", failed, f)
			}
		}
		if f, _ := First(first(Diagnose(e))); f.Rule != want {
			t.Errorf("%d found nothing: %+v", failed, f)
		}
	}
}

func TestTimersThatFireAreAFaultWhereTheyCostMuch(t *testing.T) {
	e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), Waits: &evidence.Waits{}, Calls: &evidence.Calls{}, Sharing: &evidence.Sharing{},
		CPU: profile(0.6, "runtime.(*timer).modify", "time.(*Timer).Reset", "main.heard")}
	if f, ok := First(first(Diagnose(e))); !ok || f.Rule != "timers" || f.Top != "main.heard" {
		t.Errorf("%+v", f)
	}
	for part, want := range map[float64]string{0.15: "", 0.9: "timers"} {
		e.CPU = profile(part, "runtime.(*timers).siftDown", "runtime.(*timer).unlockAndRun", "runtime.(*timers).run", "runtime.schedule")
		if f, _ := First(first(Diagnose(e))); f.Rule != want {
			t.Errorf("with %v of the processor time: %+v", part, f)
		}
	}
}

// Steps that are long since others had the processor are no fault of the program's.
func TestALoopThatIsKeptFromItsEvents(t *testing.T) {
	e := &evidence.Evidence{Took: time.Second, CPUTime: 900 * time.Millisecond, Tools: all(), CPU: profile(0.9, evidence.UnknownFrame), Sharing: &evidence.Sharing{},
		Calls: &evidence.Calls{Took: time.Second, Blocked: 800 * time.Millisecond, Turns: 4}}
	e.CPU.Stacks = e.CPU.Stacks[:1]
	if f, _ := First(first(Diagnose(e))); f.Rule != "blocked-loop" || f.Top != "the event loop" || !strings.Contains(f.Clue, "200 ms") {
		t.Errorf("%+v", f)
	}
	e.Queued = 5 * time.Second
	if f, found := First(first(Diagnose(e))); found {
		t.Errorf("%+v", f)
	}
	e.CPUTime, e.Queued = 10*time.Millisecond, 100*time.Millisecond
	if f, _ := First(first(Diagnose(e))); f.Rule != "blocked-loop" || f.Score < 0.6 {
		t.Errorf("one that sleeps: %+v", f)
	}
}

func TestFindingsAreWholeAndInOrder(t *testing.T) {
	e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), CPU: profile(0.6, "runtime.mallocgc", "main.make"), Calls: writes(900),
		Waits: &evidence.Waits{Took: time.Second, Samples: 9, Last: 9, Places: []evidence.Place{{Reason: "sync.Mutex.Lock", Mean: 3, WhileIO: 0.9, Frames: []evidence.Frame{{Func: "main.save"}}}}}}
	last := math.Inf(1)
	for _, f := range first(Diagnose(e)) {
		if f.Score > last || f.Tool == "" || f.Top == "" || f.Clue == "" || f.Rule != "" && (f.Try == "" || f.Score < faint) || f.Rule == "" && f.Score != 0 {
			t.Errorf("%+v", f)
		}
		last = f.Score
	}
}

// FuzzDiagnose gives the rules evidence that contradicts itself.
func FuzzDiagnose(f *testing.F) {
	f.Add([]byte(`{"took_ns":1,"tools":[{"name":"strace","state":"ok"},{"name":"pprof cpu","state":"ok"}],"calls":{"by_name":[{"name":"write","count":1,"again":9}]},"cpu":{"total":1,"stacks":[{"value":9223372036854775807,"count":99,"frames":[{"func":"syscall.write"}]}]}}`))
	f.Add([]byte(`{"tools":[{"name":"goroutines","state":"ok"}],"waits":{"took_ns":1,"samples":1,"places":[{"reason":"sync.Mutex.Lock","mean":-5,"while_io":9,"grew":true,"frames":[{"func":"main.f"}]}]}}`))
	f.Add([]byte(`{"tools":[{"name":"strace","state":"ok"}],"calls":{"took_ns":-1,"lock_time_ns":5,"by_name":[{"name":"fsync","count":-1}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var e evidence.Evidence
		if json.Unmarshal(text, &e) != nil {
			return
		}
		findings, _ := Diagnose(&e)
		for _, f := range findings {
			if !(f.Share >= 0 && f.Share <= 1) || !(f.Score >= 0 && f.Score <= 1) {
				t.Errorf("%+v", f)
			}
		}
	})
}

// Most system calls of a program that waits a lot are the scheduler's, which has no line to mend.
func TestThePlaceIsTheProgramsOwnWhereThereIsOne(t *testing.T) {
	p := profile(0.6, "finish_task_switch.isra.0", "do_syscall_64", "runtime.futex")
	p.Stacks = append(p.Stacks, evidence.Stack{Value: 1e8, Count: 10, Frames: []evidence.Frame{{Func: "do_syscall_64"}, {Func: "main.poll"}}})
	if got := where(p, passing(isSyscall), "EAGAIN"); got != "main.poll" {
		t.Errorf("in %s", got)
	}
	if got := where(profile(0.6, "do_syscall_64", "runtime.futex"), passing(isSyscall), "EAGAIN"); got != "EAGAIN" {
		t.Errorf("of the runtime alone, in %s", got)
	}
}

func TestTickersThatFireAreNoSpinning(t *testing.T) {
	e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), Sharing: &evidence.Sharing{}, Calls: &evidence.Calls{Took: time.Second},
		CPU: profile(0.9, "runtime.selectnbsend", "time.sendTime", "runtime.(*timer).unlockAndRun", "runtime.(*timers).run", "runtime.schedule")}
	findings, _ := Diagnose(e)
	if f, _ := First(findings); f.Rule != "timers" {
		t.Errorf("%+v", f)
	}
}

func TestALockCostsLittleWhereOthersAreReady(t *testing.T) {
	waits := &evidence.Waits{Took: time.Second, Samples: 100, Running: 0.8, Runnable: 9, Waiting: 32, First: 40, Last: 40, Places: []evidence.Place{
		{Reason: "sync.Mutex.Lock", Mean: 0.8, Frames: []evidence.Frame{{Func: "main.answer"}}},
	}}
	e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Go: "go1.26", Tools: all(), Waits: waits}
	if f, found := First(first(Diagnose(e))); found {
		t.Errorf("%+v", f)
	}
	waits.Runnable, waits.Places[0].Mean = 2, 12
	if f, found := First(first(Diagnose(e))); !found || f.Rule != "lock-contention" {
		t.Errorf("%+v", f)
	}
}

func TestGoroutinesOfNewConnectionsAreNoLeak(t *testing.T) {
	waits := &evidence.Waits{Took: time.Second, Samples: 100, First: 200, Last: 600, Places: []evidence.Place{
		{Reason: "select", Mean: 200, First: 100, Last: 300, Grew: true, Frames: []evidence.Frame{{Func: "main.write"}}},
		{Reason: evidence.ReasonNetwork, Mean: 200, First: 100, Last: 300, Grew: true, Frames: []evidence.Frame{{Func: "main.read"}}},
	}}
	e := &evidence.Evidence{Took: time.Second, Go: "go1.26", Tools: all(), Waits: waits}
	if f, found := First(first(Diagnose(e))); found {
		t.Errorf("%+v", f)
	}
	waits.Places[1].First = 300
	if f, found := First(first(Diagnose(e))); !found || f.Rule != "goroutine-leak" {
		t.Errorf("%+v", f)
	}
	waits.Places[0].Frames = []evidence.Frame{{Func: "net/http.(*persistConn).writeLoop"}}
	if f, found := First(first(Diagnose(e))); !found || f.Rule != "unclosed-body" || !strings.Contains(f.Try, "close the body") {
		t.Errorf("%+v", f)
	}
}

func TestPollsThatFindNothingHaveToBeMany(t *testing.T) {
	calls := &evidence.Calls{Took: time.Second, Total: 6000, ByName: []evidence.Call{{Name: "setsockopt", Count: 5800}, {Name: "read", Count: 200, Errors: 190}}}
	e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), Calls: calls, CPU: profile(0.6, "do_syscall_64", "main.serve"), Sharing: &evidence.Sharing{}}
	if f, found := First(first(Diagnose(e))); found {
		t.Errorf("%+v", f)
	}
	calls.Total, calls.ByName[0].Count = 400, 200
	if f, found := First(first(Diagnose(e))); !found || f.Rule != "empty-polls" {
		t.Errorf("%+v", f)
	}
}

// What system calls do not say is open: whether threads wait for a lock of Java's, or for work.
func TestWaitsOfAnotherRuntimeAreOpen(t *testing.T) {
	locks := func(c evidence.Calls) (open []string) {
		c.Took, c.ByName = time.Second, []evidence.Call{}
		e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Calls: &c, Tools: []evidence.Tool{{Name: evidence.ToolProc, State: evidence.OK}, {Name: evidence.ToolStrace, State: evidence.OK}}}
		_, list := Diagnose(e)
		for _, o := range list {
			if strings.HasPrefix(o.Rule, "lock-") {
				open = append(open, o.Rule+": "+o.Why)
			}
		}
		return open
	}
	if open := locks(evidence.Calls{Woken: 1000}); len(open) != 2 || !strings.Contains(open[0], "wait for each other 1,000 times a second") {
		t.Errorf("%q", open)
	}
	if open := locks(evidence.Calls{Woken: 10}); len(open) != 0 {
		t.Errorf("%q", open)
	}
	if open := locks(evidence.Calls{Woken: 1000, LockTime: 3 * time.Second}); len(open) != 1 || !strings.HasPrefix(open[0], "lock-over-io") {
		t.Errorf("%q", open)
	}
}

// What perf says of it decides them: most waits pass a monitor of Java's, or the lock of Python's interpreter.
func TestWaitsInMonitorsAreForLocks(t *testing.T) {
	for _, c := range []struct {
		name, in, top, try string
		samples            float64
		found              bool
	}{
		{"monitor", "ObjectMonitor::enter", "a monitor of Java's", "while the lock is held", 0.4, true},
		{"interpreter", "take_gil", "the lock of Python's interpreter", "processes in place of threads", 0.1, true},
		{"few", "take_gil", "", "", 0.03, false},
		{"work", "Unsafe_Park", "", "", 0.4, false},
	} {
		e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), Perf: profile(c.samples, "__schedule", "futex_wait", c.in, "start_thread"),
			Calls: &evidence.Calls{Took: time.Second, Woken: 1000, Parked: 4 * time.Second}, Sharing: &evidence.Sharing{}}
		findings, open := Diagnose(e)
		f, found := First(findings)
		if found != c.found || found && (f.Rule != "lock-contention" || !strings.Contains(f.Top, c.top) || !strings.Contains(f.Try, c.try) || f.Score < 0.3) || !found && len(open) == 0 {
			t.Errorf("%s: %+v, open %+v", c.name, f, open)
		}
	}
	mixed := profile(0.3, "futex_wait", "ObjectMonitor::enter")
	mixed.Stacks[1].Frames = []evidence.Frame{{Func: "futex_wait"}, {Func: "Unsafe_Park"}}
	e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), Perf: mixed, Calls: &evidence.Calls{Took: time.Second, Woken: 1000, Parked: 4 * time.Second}, Sharing: &evidence.Sharing{}}
	if f, found := First(first(Diagnose(e))); found {
		t.Errorf("threads that mostly wait for work: %+v", f)
	}
}

// Where all processors are at work, threads that wait for a lock lose nothing by it.
func TestLocksOfAMachineAtWorkAreNoFault(t *testing.T) {
	for _, c := range []struct {
		cpu     time.Duration
		locking float64
		found   bool
	}{{time.Second, 0.1, true}, {2 * time.Second, 0.1, false}, {2 * time.Second, 0.6, true}} {
		e := &evidence.Evidence{Took: time.Second, CPUTime: c.cpu, Processors: 2, Tools: all(), Perf: profile(c.locking, "lll_lock_wait", "pthread_mutex_lock", "add"),
			Calls: &evidence.Calls{Took: time.Second, Woken: 1000, LockTime: 4 * time.Second}, Sharing: &evidence.Sharing{}}
		if f, found := First(first(Diagnose(e))); found != c.found || found && f.Rule != "lock-contention" {
			t.Errorf("%v of processor time in a second of two processors, %v of it for locks: %+v", c.cpu, c.locking, f)
		}
	}
}

// Where other programs have the processors, a write that takes long, or a lock, may be a wait for those; not while
// none of the program's own threads was ready, and without one.
func TestLocksBesideOtherProgramsAreOpen(t *testing.T) {
	for _, c := range []struct {
		others float64
		queued time.Duration
		found  bool
	}{{0.5, 0, true}, {1.5, 0, false}, {1.5, time.Second / 10, true}, {1.5, time.Second / 2, false}, {1.5, 4 * time.Second, false}} {
		e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second / 2, Queued: c.queued, Processors: 2, Others: c.others, Tools: all(), Perf: profile(0.1, "lll_lock_wait", "pthread_mutex_lock", "add"),
			Calls: &evidence.Calls{Took: time.Second, Woken: 1000, LockTime: time.Second, LockIO: time.Second / 2}, Sharing: &evidence.Sharing{}}
		findings, open := Diagnose(e)
		f, found := First(findings)
		said := slices.ContainsFunc(open, func(o Open) bool {
			return o.Rule == "lock-over-io" && strings.Contains(o.Why, "other programs used 1.5 of 2 processors")
		})
		if found != c.found || found && f.Rule != "lock-over-io" || said == c.found {
			t.Errorf("others used %v, %v waited for: %+v, %+v", c.others, c.queued, f, open)
		}
	}
}

func TestCollectorsOfOtherLanguages(t *testing.T) {
	for _, fn := range []string{"v8::internal::ConcurrentMarking::RunMajor", "v8::internal::Heap::CollectGarbage", "GangWorker::loop", "GenMarkSweep::invoke_at_safepoint", "VM_G1CollectForAllocation::doit", "gc_collect_main", "gc_mark_children"} {
		e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), Perf: profile(0.8, "mark", fn, "start_thread"), Calls: &evidence.Calls{Took: time.Second}, Sharing: &evidence.Sharing{}}
		if f, found := First(first(Diagnose(e))); !found || f.Rule != "allocations" || !strings.Contains(f.Clue, "GC took 80 %") || !strings.Contains(f.Try, "-Xmx") {
			t.Errorf("%s: %+v", fn, f)
		}
		e.Perf = profile(0.2, "mark", fn, "start_thread")
		if f, found := First(first(Diagnose(e))); found {
			t.Errorf("%s, a fifth of the time: %+v", fn, f)
		}
	}
}

func TestAQuotaThatOthersUsedUpCostsAnIdleProgramNothing(t *testing.T) {
	e := &evidence.Evidence{Took: time.Second, CPUTime: 200 * time.Millisecond, Queued: 790 * time.Millisecond, Tools: all(), CPU: profile(0.1, "main.f"),
		Waits: &evidence.Waits{}, Calls: &evidence.Calls{}, Sharing: &evidence.Sharing{}, Quota: &evidence.Quota{Group: "/app", Processors: 0.2, Periods: 10, Throttled: 10, Stopped: 800 * time.Millisecond}}
	e.CPU.Total = 2e8
	if f, ok := First(first(Diagnose(e))); !ok || f.Rule != "cpu-quota" || f.Score < 0.7 || !strings.Contains(f.Top, "/app") || !strings.Contains(f.Clue, "0.20 processors") {
		t.Errorf("%+v", f)
	}
	e.CPUTime, e.Queued = 0, 0
	if f, ok := First(first(Diagnose(e))); !ok || f.Rule != "cpu-quota" {
		t.Errorf("what it started was stopped: %+v", f)
	}
	e.CPUTime, e.Queued, e.CPU = 2*time.Millisecond, 8*time.Millisecond, nil
	if f, ok := First(first(Diagnose(e))); ok {
		t.Errorf("%+v", f)
	}
	e.CPUTime, e.Quota.Throttled = 900*time.Millisecond, 1
	if f, ok := First(first(Diagnose(e))); ok {
		t.Errorf("stopped in one period of ten: %+v", f)
	}
	for i := range e.Tools {
		if e.Tools[i].Name == evidence.ToolCgroup {
			e.Tools[i] = evidence.Tool{Name: evidence.ToolCgroup, State: evidence.Missing, Note: "it is mounted nowhere"}
		}
	}
	if _, open := Diagnose(e); !strings.Contains(open[0].Why, "mounted nowhere") || open[0].Rule != "cpu-quota" {
		t.Errorf("%+v", open)
	}
}

func TestAProgramWithoutDescriptorsIsNamed(t *testing.T) {
	e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), Waits: &evidence.Waits{}, Sharing: &evidence.Sharing{},
		CPU: profile(0.5, "syscall.Syscall6", "syscall.accept4", "internal/poll.(*FD).Accept", "main.serve"), Calls: &evidence.Calls{Took: time.Second, Total: 100, Mishaps: evidence.Mishaps{NoFiles: 40}}}
	if f, found := First(first(Diagnose(e))); !found || f.Rule != "no-descriptors" || f.Top != "main.serve" {
		t.Errorf("%+v", f)
	}
}

func TestThreadsThatSpinOrParkForALock(t *testing.T) {
	park := profile(0.1, "futex_do_wait", "pthread_rwlock_wrlock@@GLIBC_2.34", "enter")
	for name, e := range map[string]*evidence.Evidence{
		"spinning":              {Perf: profile(0.8, "pthread_spin_lock@@GLIBC_2.34", "enter"), Calls: &evidence.Calls{}},
		"of readers and writer": {Perf: park, Calls: &evidence.Calls{Took: time.Second, Woken: 1000, Parked: 3 * time.Second}},
	} {
		e.Took, e.CPUTime, e.Tools, e.Sharing = time.Second, time.Second, all(), &evidence.Sharing{}
		if f, found := First(first(Diagnose(e))); !found || f.Rule != "lock-contention" {
			t.Errorf("%s: %+v", name, f)
		}
	}
	// What a thread waits for in a mutex shows in its system calls: other waits, of threads without work, are not for that.
	idle := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), Sharing: &evidence.Sharing{}, Perf: profile(0.2, "futex_do_wait", "__lll_lock_wait_private", "malloc", "enter"),
		Calls: &evidence.Calls{Took: time.Second, Woken: 200, Parked: 4 * time.Second, LockTime: time.Second / 10}}
	if f, found := First(first(Diagnose(idle))); found {
		t.Errorf("threads without work: %+v", f)
	}
	free := profile(0.5, "pthread_mutex_lock@@GLIBC_2.2.5", "count")
	free.Stacks[1].Frames[0].Func = "pthread_mutex_unlock@@GLIBC_2.2.5"
	e := &evidence.Evidence{Took: time.Second, CPUTime: 2 * time.Second, Tools: all(), Perf: free, Calls: &evidence.Calls{}, Sharing: &evidence.Sharing{}}
	if f, found := First(first(Diagnose(e))); found {
		t.Errorf("locks that are free: %+v", f)
	}
}

func TestProcessorTimeWithAName(t *testing.T) {
	for _, c := range []struct {
		rule  string
		stack []string
	}{
		{"handoffs", []string{"runtime.lock2", "runtime.chansend", "runtime.chansend1", "main.lex"}},
		{"handoffs", []string{"runtime.newproc1", "runtime.newproc", "main.lex"}},
		{"cgo-calls", []string{"runtime.exitsyscall", "runtime.cgocall", "main._Cfunc_add", "main.lex"}},
		{"page-faults", []string{"clear_page_erms", "exc_page_fault", "asm_exc_page_fault", "main.lex"}},
		{"page-faults", []string{"unmap_vmas", "__x64_sys_munmap", "do_syscall_64", "syscall.munmap", "main.lex"}},
		{"processes", []string{"handle_intel", "_dl_sysdep_start", "_dl_start"}},
		{"processes", []string{"unmap_vmas", "do_exit", "__x64_sys_exit_group", "do_syscall_64"}},
		{"compiled-again", []string{"runtime.mallocgc", "regexp/syntax.parse", "regexp.compile", "regexp.MustCompile", "main.lex"}},
		{"clock", []string{"__vdso_clock_gettime", "runtime.time_now", "time.Now", "main.lex"}},
		{"clock", []string{"__vdso_clock_gettime", "std::chrono::_V2::steady_clock::now", "main.lex"}},
		{"allocations", []string{"internal/runtime/maps.(*table).split", "internal/runtime/maps.(*table).rehash", "runtime.mapassign_fast64", "main.lex"}},
		{"formatting", []string{"reflect.Value.Field", "fmt.(*pp).printValue", "fmt.Fprintf", "main.lex"}},
		{"formatting", []string{"encoding/json.(*decodeState).object", "encoding/json.Unmarshal", "main.lex"}},
		{"formatting", []string{"str_to_mpn", "std::num_get<char>::do_get", "std::istream::_M_extract<double>", "main.lex"}},
		{"formatting", []string{"v8::internal::JsonStringifier::SerializeString", "v8::internal::JsonStringify", "main.lex"}},
		{"formatting", []string{"PyUnicode_New", "_parse_object_unicode", "scan_once_unicode", "main.lex"}},
		{"formatting", []string{"__strftime_internal", "__strftime_l", "main.lex"}},
		{"formatting", []string{"__printf_buffer", "__vfprintf_internal", "fprintf", "main.lex"}},
		{"password-hashing", []string{"blowfish.encryptBlock", "golang.org/x/crypto/blowfish.ExpandKey", "golang.org/x/crypto/bcrypt.bcrypt", "main.lex"}},
		{"password-hashing", []string{"sha512_block_data_order_avx2", "SHA512_Update", "PKCS5_PBKDF2_HMAC", "main.lex"}},
		{"password-hashing", []string{"blockmix", "yescrypt_kdf_body", "_crypt_yescrypt_rn", "crypt_r@@XCRYPT_2.0", "main.lex"}},
		{"scanned-again", []string{"__strlen_avx2", "main.lex"}},
		{"scanned-again", []string{"__strcat_evex", "main.lex"}},
		{"", []string{"main.inC", "runtime.cgocall", "main._Cfunc_add", "main.lex"}},
		{"", []string{"internal/poll.(*FD).Write", "net.(*conn).Write", "fmt.Fprintf", "main.lex"}},
	} {
		e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Go: "go1.26", Tools: all(), Perf: profile(0.7, c.stack...), Waits: &evidence.Waits{}, Calls: &evidence.Calls{}, Sharing: &evidence.Sharing{}}
		if f, _ := First(first(Diagnose(e))); f.Rule != c.rule || c.rule != "" && f.Top != "main.lex" && f.Top != "fork and exec" {
			t.Errorf("%s: %+v", c.stack, f)
		}
	}
	// What looks at each text once has to look for its end.
	e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), Perf: profile(0.35, "__strlen_avx2", "main.lex"), Calls: &evidence.Calls{}, Sharing: &evidence.Sharing{}}
	if f, found := First(first(Diagnose(e))); found {
		t.Errorf("a program that works on texts: %+v", f)
	}
	e = &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), Perf: profile(0.7, "main.lex"), UserOnly: true, Calls: &evidence.Calls{}, Sharing: &evidence.Sharing{}}
	if _, open := Diagnose(e); len(open) != 1 || open[0].Rule != "page-faults" || !strings.Contains(open[0].Why, "not permitted") {
		t.Errorf("without the kernel's part: %+v", open)
	}
}

func TestGoroutinesThatWaitForNames(t *testing.T) {
	asks := []evidence.Frame{{Func: "net.(*Resolver).exchange"}, {Func: "net.(*Resolver).tryOneName"}}
	waits := &evidence.Waits{Took: time.Second, Samples: 100, Waiting: 12, First: 12, Last: 12, Places: []evidence.Place{
		{Reason: evidence.ReasonNetwork, Mean: 8, Frames: asks},
		{Reason: "select", Mean: 4, Frames: []evidence.Frame{{Func: "net.(*Resolver).lookupIPAddr"}, {Func: "net.(*Dialer).DialContext"}, {Func: "main.backend"}}},
	}}
	e := &evidence.Evidence{Took: time.Second, Go: "go1.26", Tools: all(), Waits: waits}
	if f, found := First(first(Diagnose(e))); !found || f.Rule != "host-names" || f.Top != "main.backend" || !strings.HasPrefix(f.Clue, "4.0 goroutines") {
		t.Errorf("%+v", f)
	}
}

func TestThreadsThatWaitForNames(t *testing.T) {
	calls := &evidence.Calls{Took: time.Second, Total: 10, Mishaps: evidence.Mishaps{Asking: 0.9}}
	e := &evidence.Evidence{Took: time.Second, CPUTime: time.Millisecond, Tools: all(), Calls: calls, Perf: profile(0.1, "poll", "__res_context_send", "getaddrinfo", "main_ask"), Sharing: &evidence.Sharing{}}
	if f, found := First(first(Diagnose(e))); !found || f.Rule != "host-names" || !strings.HasPrefix(f.Clue, "0.9 threads") {
		t.Errorf("%+v", f)
	}
	calls.Asking = 0.1
	if f, found := First(first(Diagnose(e))); found {
		t.Errorf("names that are asked for at times: %+v", f)
	}
}

// One fsync for several requests is what the rule would have tried.
func TestGroupCommitIsNoFault(t *testing.T) {
	calls := &evidence.Calls{Took: time.Second, Total: 2000, ByName: []evidence.Call{{Name: "fsync", Count: 500, Time: 950 * time.Millisecond}, {Name: "pwrite64", Count: 500, Bytes: 500 * 2000}}}
	e := &evidence.Evidence{Took: time.Second, CPUTime: 100 * time.Millisecond, Tools: all(), Calls: calls, Perf: profile(0.1, "fsync", "main.sync"), Sharing: &evidence.Sharing{}}
	for covered, fault := range map[int64]bool{0: true, 500: true, 1100: false, 8000: false} {
		calls.Covered = covered
		if f, found := First(first(Diagnose(e))); found != fault || found && f.Rule != "fsync" {
			t.Errorf("%d requests: %+v", covered, f)
		}
	}
}

func TestAPoolThatIsTooSmall(t *testing.T) {
	asks := []evidence.Frame{{Func: "database/sql.(*DB).conn"}, {Func: "main.ask"}}
	waits := &evidence.Waits{Took: time.Second, Samples: 100, Waiting: 16, Places: []evidence.Place{
		{Reason: "select", Mean: 14, Pool: 2, Frames: asks}, {Reason: "chan receive", Mean: 30, Frames: asks[1:]},
	}}
	e := &evidence.Evidence{Took: time.Second, Go: "go1.26", Tools: all(), Waits: waits}
	if f, found := First(first(Diagnose(e))); !found || f.Rule != "small-pool" || f.Top != "main.ask" || f.Score > 0.83 || !strings.Contains(f.Clue, "while 2 others") {
		t.Errorf("%+v", f)
	}
}

func TestAReceiverThatIsTooSlow(t *testing.T) {
	waits := &evidence.Waits{Took: time.Second, Samples: 100, Waiting: 16, Places: []evidence.Place{{Reason: "chan send", Mean: 15, WhileIO: 0.9, Frames: []evidence.Frame{{Func: "main.handle"}}}}}
	e := &evidence.Evidence{Took: time.Second, Go: "go1.26", Tools: all(), Waits: waits}
	if f, found := First(first(Diagnose(e))); !found || f.Rule != "lock-over-io" || f.Top != "main.handle" || !strings.HasPrefix(f.Clue, "15.0 waited to send") || !strings.Contains(f.Try, "receive") {
		t.Errorf("%+v", f)
	}
}

// A loop of runtime.Gosched is seen by the scheduler's stack alone: then no clean bill.
func TestALoopThatYieldsIsUndecided(t *testing.T) {
	e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), Go: "go1.26", Waits: &evidence.Waits{}, Calls: &evidence.Calls{}, CPU: profile(0.7, "runtime.gosched_m", "runtime.mcall")}
	if findings, open := Diagnose(e); len(open) != 1 || open[0].Rule != "busy-spin" || !strings.Contains(open[0].Why, "runtime.Gosched") {
		t.Errorf("%+v, %+v", findings, open)
	}
}

func TestPollsOfManyDescriptors(t *testing.T) {
	calls := &evidence.Calls{Took: time.Second, Total: 1000, ByName: []evidence.Call{{Name: "poll", Count: 500, Watched: 500 * 1000}}}
	e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), Calls: calls, Perf: profile(0.8, "sock_poll", "do_sys_poll", "__x64_sys_poll", "turn"), Sharing: &evidence.Sharing{}}
	if f, found := First(first(Diagnose(e))); !found || f.Rule != "wide-polls" || !strings.Contains(f.Clue, "1,000 descriptors") {
		t.Errorf("%+v", f)
	}
	calls.ByName[0].Watched = 500
	if f, found := First(first(Diagnose(e))); found {
		t.Errorf("%+v", f)
	}
}

func TestFunctionsWithoutNamesAreOpen(t *testing.T) {
	e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), Perf: profile(0.7, evidence.UnknownFrame), Calls: &evidence.Calls{}, Sharing: &evidence.Sharing{}}
	e.Perf.Stacks[0].Frames[0].File = "perf-42.map"
	if _, open := Diagnose(e); len(open) != 6 || !strings.Contains(open[0].Why, "70 % of the processor time passed in functions made at run time") {
		t.Errorf("%+v", open)
	}
	e.Perf.Stacks[0].Frames[0].File = "gzip" // what it calls has names
	if _, open := Diagnose(e); len(open) > 0 {
		t.Errorf("%+v", open)
	}
}

// perf takes no sample of a thread that ends within its period.
func TestThreadsThatPerfCannotSample(t *testing.T) {
	calls := &evidence.Calls{Took: time.Second, ByName: []evidence.Call{{Name: "clone3", Count: 1300}}}
	e := &evidence.Evidence{Took: time.Second, CPUTime: 900 * time.Millisecond, Tools: all(), Perf: &evidence.Profile{Unit: "ns", Total: 3e6, Stacks: []evidence.Stack{{Value: 3e6, Count: 3, Frames: []evidence.Frame{{Func: "main"}}}}}, Calls: calls, Sharing: &evidence.Sharing{}}
	if f, found := First(first(Diagnose(e))); !found || f.Rule != "processes" || !strings.HasPrefix(f.Clue, "1,300 threads") {
		t.Errorf("%+v", f)
	}
	calls.ByName[0].Count = 10
	if _, open := Diagnose(e); len(open) < 8 {
		t.Errorf("from 3 samples only %+v is left open", open)
	}
}

// A place in a channel, or a condition, for which requests wait is a lock, where one of them works at a time; not where
// few wait, or goroutines that may have no request.
func TestAChannelThatIsALockWhileItsHolderComputes(t *testing.T) {
	for _, c := range []struct {
		reason      string
		mean, alone float64
		serves, is  bool
	}{
		{"chan receive", 12, 0.7, true, true}, {"chan send", 12, 0.7, true, true}, {"sync.Cond.Wait", 12, 0.7, true, true},
		{"chan receive", 12, 0.4, true, false}, {"chan receive", 2, 0.7, true, false}, {"chan receive", 12, 0.9, false, false},
	} {
		waits := &evidence.Waits{Took: time.Second, Samples: 100, Running: 1, Waiting: 16, Places: []evidence.Place{{Reason: c.reason, Mean: c.mean, Alone: c.alone, Serves: c.serves, Frames: []evidence.Frame{{Func: "main.handle"}}}}}
		e := &evidence.Evidence{Took: time.Second, Go: "go1.26", Tools: all(), Waits: waits}
		if f, found := First(first(Diagnose(e))); found != c.is || found && (f.Rule != "lock-contention" || f.Top != "main.handle" || !strings.Contains(f.Clue, "12.0 waited for the lock")) {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}

// Requests that ask for a collection, all stacks or statistics wait for each other: while they yield that is no spinning.
func TestRequestsThatStopTheRuntime(t *testing.T) {
	for _, c := range []struct {
		reason, call string
		cpu          *evidence.Profile
		mean         float64
	}{
		{"semacquire", "runtime.GC", profile(0.5, "runtime.gosched_m", "runtime.mcall"), 6},
		{"semacquire", "runtime.Stack", profile(0.1, "runtime.goready"), 13},
		{"stopping the world", "runtime.ReadMemStats", profile(0.1, "runtime.goready"), 13},
		{"semacquire", "runtime/debug.freeOSMemory", profile(0.1, "runtime.goready"), 13},
		{"chan receive", "runtime/debug.Stack", profile(0.6, "runtime.step", "runtime.traceback1", "runtime.Stack", "runtime/debug.Stack", "main.handle"), 0},
	} {
		waits := &evidence.Waits{Took: time.Second, Samples: 100, Running: 1, Waiting: 16, Places: []evidence.Place{{Reason: c.reason, Mean: c.mean, Frames: []evidence.Frame{{Func: c.call}, {Func: "main.handle"}}}}}
		e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Go: "go1.26", Tools: all(), Waits: waits, CPU: c.cpu, Calls: &evidence.Calls{Took: time.Second}, Sharing: &evidence.Sharing{}}
		findings, open := Diagnose(e)
		if f, found := First(findings); !found || f.Rule != "runtime-calls" || f.Top != "main.handle" || len(open) > 0 {
			t.Errorf("%s: %+v, %+v", c.call, f, open)
		}
	}
}

func TestRequestsThatSleep(t *testing.T) {
	asleep := func(serves bool) *evidence.Evidence {
		return &evidence.Evidence{Took: time.Second, CPUTime: time.Millisecond, Go: "go1.26", Tools: all(), Waits: &evidence.Waits{Took: time.Second, Samples: 100, Waiting: 16,
			Places: []evidence.Place{{Reason: evidence.ReasonSleep, Mean: 14, Serves: serves, Frames: []evidence.Frame{{Func: "time.Sleep"}, {Func: "main.handle"}}}}}}
	}
	inC := func(times int64, took time.Duration) *evidence.Evidence {
		return &evidence.Evidence{Took: time.Second, CPUTime: 20 * time.Millisecond, Tools: all(), Calls: &evidence.Calls{Took: time.Second, Mishaps: evidence.Mishaps{Sleeps: times, Slept: took}}, Sharing: &evidence.Sharing{},
			Perf: profile(0.3, "clock_nanosleep@GLIBC_2.2.5", "__nanosleep", "usleep", "main.handle")}
	}
	paced := asleep(true) // a stream: many writes for each request
	paced.Calls = &evidence.Calls{Took: time.Second, Replies: 10, ByName: []evidence.Call{{Name: "write", Count: 1600}}}
	withLock := inC(900, 900*time.Millisecond)
	withLock.Calls.LockTime, withLock.Calls.LockIO = 12*time.Second, 900*time.Millisecond
	withLock.Processors, withLock.Others = 2, 1.9 // so that the lock is open
	for name, c := range map[string]struct {
		e   *evidence.Evidence
		top string
	}{
		"handlers":              {asleep(true), "main.handle"},
		"goroutines of its own": {asleep(false), ""},
		"a loop in C":           {inC(300, 900*time.Millisecond), "main.handle"},
		"threads in C":          {inC(4000, 12*time.Second), "main.handle"},
		"with a lock":           {withLock, ""},
		"paced":                 {paced, ""},
		"seldom":                {inC(10, 900*time.Millisecond), ""},
		"short":                 {inC(300, 30*time.Millisecond), ""},
	} {
		if f, found := First(first(Diagnose(c.e))); found != (c.top != "") || found && (f.Rule != "sleeps" || f.Top != c.top) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestWhatIsNotThereIsNoConnectionPerRequest(t *testing.T) {
	calls := &evidence.Calls{Took: time.Second, Total: 1000, Replies: 400, Mishaps: evidence.Mishaps{Refused: evidence.Repeated{Name: "10.0.0.1:81", Count: 400}}}
	e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), Calls: calls, Perf: profile(0.3, "__x64_sys_connect", "connect", "main.ask"), Sharing: &evidence.Sharing{}}
	if f, found := First(first(Diagnose(e))); !found || f.Rule != "refused-connections" || f.Top != "main.ask" || !strings.Contains(f.Clue, "400 connections to 10.0.0.1:81 could not be made") || f.Try == "" {
		t.Errorf("%+v", f)
	}
}

// The C library looks at the same files for each name that it is asked for: that they are opened again is not the fault.
func TestNamesThatTheCLibraryIsAskedFor(t *testing.T) {
	calls := &evidence.Calls{Took: time.Second, Total: 1000, Opens: 900, Reopened: 899, Opened: evidence.Repeated{Name: "/etc/nsswitch.conf", Count: 900}}
	e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), Calls: calls, Perf: profile(0.7, "do_sys_openat2", "__x64_sys_openat", "fopen", "getaddrinfo", "main.ask"), Sharing: &evidence.Sharing{}}
	if f, found := First(first(Diagnose(e))); !found || f.Rule != "host-names" || f.Top != "main.ask" {
		t.Errorf("%+v", f)
	}
	calls.Opened.Name = "/etc/app.conf"
	if f, found := First(first(Diagnose(e))); !found || f.Rule != "reopened-file" {
		t.Errorf("%+v", f)
	}
}
