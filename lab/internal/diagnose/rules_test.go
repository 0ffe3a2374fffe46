package diagnose

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
)

// found returns what a rule found in the evidence; its score is 0 if nothing.
func found(e *evidence.Evidence, rule string) Finding {
	for _, f := range Diagnose(e) {
		if f.Rule == rule {
			return f
		}
	}
	return Finding{}
}

// calls are system calls of one kind, each of which moved size of the asked
// bytes.
func calls(name string, n, size, asked int64) evidence.Call {
	c := evidence.Call{Name: name, Count: n, Bytes: n * size,
		Sizes: []evidence.Size{{Bytes: size, Count: n}}, Asked: []evidence.Size{{Bytes: asked, Count: n}}}
	if size < 512 {
		c.Under512 = n
	}
	if size == asked {
		c.Full = n
	}
	return c
}

func called(list ...evidence.Call) *evidence.Calls {
	c := &evidence.Calls{Took: time.Second, ByName: list}
	for _, call := range list {
		c.Total += call.Count
	}
	return c
}

// half is a profile in which one stack has half of the time.
func half(funcs ...string) *evidence.Profile {
	return profile("ns", stack(500, funcs...), stack(500, "main.other", "main.main"))
}

const (
	write   = "internal/poll.(*FD).Write"
	read    = "internal/poll.(*FD).Read"
	syscall = "internal/runtime/syscall/linux.Syscall6"
)

func TestScoresAreWhatTheySayTheyAre(t *testing.T) {
	second := time.Second
	for _, c := range []struct {
		name string
		e    evidence.Evidence
		rule string
		want float64 // of the score
		says string
	}{
		{"small writes", evidence.Evidence{
			CPU: half(syscall, write, "net.(*conn).Write", "main.send"), Calls: called(calls("write", 900, 64, 64), calls("write", 100, 65536, 65536))},
			"small-writes", 0.45, "90 % of writes were under 512 B, most of them 64 B"},
		{"small writes of a process that waits", evidence.Evidence{Took: second, CPUTime: second / 10,
			CPU: half(syscall, write, "main.send"), Calls: called(calls("write", 900, 64, 64))},
			"small-writes", 0.05, "100 % of writes"},
		{"small writes of a process that others keep waiting", evidence.Evidence{Took: second, CPUTime: second / 10, Queued: second,
			CPU: half(syscall, write, "main.send"), Calls: called(calls("write", 900, 64, 64))},
			"small-writes", 0.5, "100 % of writes"},
		{"large writes", evidence.Evidence{CPU: half(syscall, write, "main.send"), Calls: called(calls("writev", 900, 4096, 4096))}, "small-writes", 0, ""},
		{"the poller's wake-ups", evidence.Evidence{
			CPU: half(syscall, write, "main.send"), Calls: called(calls("write", 900, 8, 8), calls("read", 900, 8, 8), calls("sendto", 100, 65536, 65536))},
			"small-writes", 0, ""},
		{"small writes that carry much", evidence.Evidence{Bytes: 64 << 20, WriteCalls: 1000, Took: second, CPUTime: second,
			CPU: half(syscall, write, "main.send"), Calls: called(calls("write", 900, 64, 64))}, "small-writes", 0.03, ""},
		{"small reads that were meant", evidence.Evidence{
			CPU: half(syscall, read, "io.ReadFull", "main.header"), Calls: called(calls("read", 410, 4, 4), calls("read", 590, 4096, 65536))},
			"small-reads", 0.205, "41 % of reads were under 512 B"},
		{"small reads of what has come", evidence.Evidence{
			CPU: half(syscall, read, "main.header"), Calls: called(calls("recvfrom", 1000, 40, 65536))},
			"small-reads", 0.15, "though 100 % asked for more"},
		{"a small buffer", evidence.Evidence{Bytes: 1e9, Took: second, CPUTime: second,
			CPU: half(syscall, read, "main.pull"), Calls: called(calls("read", 980, 4096, 4096), calls("read", 20, 100, 4096))},
			"small-buffer", 0.245, "98 % of reads filled their 4,096 bytes at 1 GB/s"},
		{"a small buffer that is passed on", evidence.Evidence{
			CPU:   profile("ns", stack(30, syscall, read, "main.pull"), stack(60, syscall, write, "main.push"), stack(10, "main.main")),
			Calls: called(calls("read", 1000, 4096, 4096), calls("write", 1000, 4096, 4096))},
			"small-buffer", 0.45, "and calls that write pieces of the same size 60 %"},
		{"a small buffer on a slow stream", evidence.Evidence{Bytes: 1e6, Took: second, CPUTime: second,
			CPU: half(syscall, read, "main.pull"), Calls: called(calls("read", 980, 4096, 4096))}, "small-buffer", 0, ""},
		{"a large buffer", evidence.Evidence{
			CPU: half(syscall, read, "main.pull"), Calls: called(calls("read", 980, 65536, 65536))}, "small-buffer", 0, ""},
		{"a buffer that is never full", evidence.Evidence{
			CPU: half(syscall, read, "main.pull"), Calls: called(calls("read", 980, 1400, 4096))}, "small-buffer", 0, ""},
		{"messages of one size, after each of which the socket is empty", evidence.Evidence{
			CPU:   half(syscall, read, "main.pull"),
			Calls: called(calls("read", 1000, 2048, 2048), evidence.Call{Name: "read", Count: 1000, Errors: 1000})}, "small-buffer", 0, ""},
		{"flushes of zstd", evidence.Evidence{
			CPU:   half("zstd.encode", "github.com/klauspost/compress/zstd.(*Encoder).nextBlock", "github.com/klauspost/compress/zstd.(*Encoder).Flush", "main.logLine"),
			Calls: called(calls("write", 500, 90, 90))},
			"flush-per-write", 0.5, "100 % of writes behind it were under 512 B"},
		{"flushes of large blocks", evidence.Evidence{
			CPU: half("compress/flate.(*compressor).deflate", "compress/flate.(*Writer).Flush", "main.logLine"), Calls: called(calls("write", 500, 30000, 30000))},
			"flush-per-write", 0, ""},
		{"a bufio.Writer's flush is no compressor's", evidence.Evidence{
			CPU: half(syscall, write, "bufio.(*Writer).Flush", "main.send"), Calls: called(calls("write", 500, 90, 90))}, "flush-per-write", 0, ""},
		{"writes below a compressor's flush are not small writes", evidence.Evidence{
			CPU: half(syscall, write, "compress/gzip.(*Writer).Flush", "main.logLine"), Calls: called(calls("write", 500, 90, 90))}, "small-writes", 0, ""},
		{"garbage", evidence.Evidence{CPU: profile("ns", stack(30, "runtime.mallocgc", "runtime.makeslice", "main.read"), stack(12, "runtime.gcDrain", "runtime.gcBgMarkWorker"),
			stack(10, "runtime.gcDrain", "runtime.gcDrainMarkWorkerIdle", "runtime.gcBgMarkWorker"), stack(48, "main.work"))},
			"allocations", 0.42, "allocating took 30 % of the processor time, GC took 12 %"},
		{"a collector on idle processors", evidence.Evidence{CPU: profile("ns",
			stack(50, "runtime.gcDrain", "runtime.gcDrainMarkWorkerIdle", "runtime.gcBgMarkWorker"), stack(50, "main.work"))}, "gc", 0, ""},
		{"fsync", evidence.Evidence{Trace: &evidence.Trace{Took: second, InSyscall: []evidence.Blocking{
			{Reason: "syscall", Time: 800 * time.Millisecond, Count: 100, Frames: frames("syscall.Fsync", "internal/poll.(*FD).Fsync", "os.(*File).Sync", "main.commit")}}}},
			"fsync", 0.4, "80 % of the time somebody was in fsync: 100 calls of 8 ms"},
		{"a loop that sleeps", evidence.Evidence{Took: second, CPUTime: second / 20, Trace: &evidence.Trace{Took: second, Running: second / 20, Blocked: []evidence.Blocking{
			{Reason: "sleep", Time: 900 * time.Millisecond, Count: 90, Frames: frames("time.Sleep", "main.poll")}}}},
			"sleeping", 0.4275, "asleep for 90 % of the time: 90 times, for 10 ms"},
		{"polling in vain", evidence.Evidence{
			CPU:   half(syscall, read, "main.spin"),
			Calls: called(evidence.Call{Name: "read", Count: 1000, Errors: 900, Asked: []evidence.Size{{Bytes: 4096, Count: 1000}}, Sizes: []evidence.Size{{Bytes: 700, Count: 100}}, Bytes: 70000})},
			"empty-polls", 0.225, "90 % of reads found nothing (EAGAIN), 9.0 for each that did"},
		{"the scheduler", evidence.Evidence{CPU: half("runtime.findRunnable", "runtime.schedule", "runtime.park_m", "runtime.mcall")},
			"switches", 0.2, "took 50 % of the processor time"},
		{"more goroutines than processors", evidence.Evidence{Trace: &evidence.Trace{Took: second, Procs: 2, Running: second, Runnable: second,
			Latency: evidence.Latency{Count: 10, P99: 30 * time.Millisecond, Max: time.Second}}},
			"run-queue", 0.075, "30 ms at the 99th percentile"},
	} {
		f := found(&c.e, c.rule)
		if d := f.Score - c.want; d > 0.006 || d < -0.006 {
			t.Errorf("%s: %s scores %.3f, want %.3f: %s", c.name, c.rule, f.Score, c.want, f.Clue)
		}
		if !strings.Contains(f.Clue, c.says) {
			t.Errorf("%s: %q does not say %q", c.name, f.Clue, c.says)
		}
	}
}

// waiting is a trace in which n goroutines wait for a lock at any time.
func waiting(n float64, inIO float64, reason string, waits, ends []evidence.Frame) *evidence.Trace {
	d := time.Duration(n * float64(time.Second))
	return &evidence.Trace{Took: time.Second, Waiting: d, Blocked: []evidence.Blocking{
		{Reason: reason, Time: d, Count: 100, WhileIO: time.Duration(inIO * float64(d)), Frames: waits, Holder: ends}}}
}

func TestWhoHoldsALockDecidesWhichRuleItIs(t *testing.T) {
	lock := frames("internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock", "main.(*shop).sell", "main.serve")
	unlock := frames("sync.(*Mutex).Unlock", "main.(*shop).sell", "main.serve")
	for _, c := range []struct {
		name  string
		trace *evidence.Trace
		first string
		score float64
		says  string
	}{
		{"seven wait for one in I/O", waiting(7, 1, "sync", lock, unlock), "lock-over-io", 0.875, "blocked 88 % in main.(*shop).sell: 7.0 goroutines waited for the lock"},
		{"three and a half for one that computes", waiting(3.5, 0, "sync", lock, unlock), "lock-contention", 0.39, "blocked 78 % in main.(*shop).sell"},
		{"hardly anybody waits", waiting(0.02, 1, "sync", lock, unlock), "", 0, ""},
		{"a read lock", waiting(1, 1, "sync", frames("sync.(*RWMutex).RLock", "main.read"), nil), "lock-over-io", 0.5, "main.read"},
		{"a wait group is no lock", waiting(7, 1, "sync", frames("sync.(*WaitGroup).Wait", "main.all"), nil), "", 0, ""},
		{"a channel that passes work on", waiting(7, 0, "chan receive", frames("runtime.chanrecv1", "main.worker"), frames("runtime.chansend1", "main.reader")), "", 0, ""},
	} {
		f, _ := First(Diagnose(&evidence.Evidence{Trace: c.trace}))
		if d := f.Score - c.score; f.Rule != c.first || d > 0.006 || d < -0.006 || !strings.Contains(f.Clue, c.says) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

func TestAChannelIsALockWhenTheSameCodeTakesAndGivesIt(t *testing.T) {
	take := frames("runtime.chansend1", "main.(*phone).ask", "main.serve")
	give := frames("runtime.chanrecv1", "main.(*phone).ask.func1", "main.(*phone).ask", "main.serve")
	talk := func(tr *evidence.Trace) *evidence.Trace {
		tr.Blocked = append(tr.Blocked, evidence.Blocking{Reason: "network", Time: 900 * time.Millisecond, Count: 100,
			Frames: frames("internal/poll.runtime_pollWait", "internal/poll.(*FD).Read", "main.(*phone).ask", "main.serve")})
		return tr
	}
	if f, _ := First(Diagnose(&evidence.Evidence{Trace: talk(waiting(5, 0, "chan send", take, give))})); f.Rule != "lock-over-io" || !strings.Contains(f.Clue, "channel") {
		t.Errorf("%+v", f)
	}
	// A method each to take and to give, under one caller.
	take, give = frames("runtime.chansend1", "main.(*sem).acquire", "main.serve"), frames("runtime.chanrecv1", "main.(*sem).release", "main.serve")
	if !isChannelLock(&evidence.Blocking{Reason: "chan send", Frames: take, Holder: give}) {
		t.Error("acquire and release are not seen to belong together")
	}
	// The state is guarded, the talk is outside.
	tr := waiting(2, 0, "chan send", frames("runtime.chansend1", "main.(*books).note", "main.serve"), frames("runtime.chanrecv1", "main.(*books).note", "main.serve"))
	if f, _ := First(Diagnose(&evidence.Evidence{Trace: talk(tr)})); f.Rule != "lock-contention" {
		t.Errorf("%+v", f)
	}
}

func TestADialogueCannotGatherWhatItWrites(t *testing.T) {
	e := &evidence.Evidence{
		Took: time.Second, Ops: 20_000, CPUTime: time.Second,
		CPU:   half(syscall, write, "main.(*client).ask", "main.session", "sync.(*WaitGroup).Go.func1"),
		Calls: called(calls("write", 900, 64, 64)),
		Trace: &evidence.Trace{Took: time.Second, Running: time.Second, Blocked: []evidence.Blocking{{Reason: "network", Time: time.Second, Count: 20_000,
			Frames: frames("internal/poll.runtime_pollWait", "internal/poll.(*FD).Read", "main.(*client).ask", "main.session", "sync.(*WaitGroup).Go.func1")}}},
	}
	f := found(e, "small-writes")
	if f.Score < 0.14 || f.Score > 0.16 || !strings.Contains(f.Try, "before the first answer") {
		t.Errorf("%+v", f)
	}
	// Another goroutine waits for the network.
	e.Trace.Blocked[0].Frames = frames("internal/poll.runtime_pollWait", "internal/poll.(*FD).Read", "main.collect")
	if f := found(e, "small-writes"); f.Score < 0.49 {
		t.Errorf("%+v", f)
	}
}

func TestScalingIsJudgedByProcessorTime(t *testing.T) {
	cpu := profile("ns", stack(900, "main.(*stats).count", "main.worker"), stack(100, "main.worker"))
	for _, c := range []struct {
		name    string
		scaling evidence.Scaling
		want    float64
	}{
		{"each operation takes five times as long", evidence.Scaling{Procs: []int{1, 2}, OpsPerSec: []float64{1e8, 4e7}, CPUPerOp: []float64{10, 50}}, 0.8},
		{"two threads of one core", evidence.Scaling{Procs: []int{1, 2}, OpsPerSec: []float64{1e8, 1.3e8}, CPUPerOp: []float64{10, 15.4}}, 0},
		{"twice the work", evidence.Scaling{Procs: []int{1, 2}, OpsPerSec: []float64{1e8, 2e8}, CPUPerOp: []float64{10, 10}}, 0},
		{"the work of one, since there was one", evidence.Scaling{Procs: []int{1, 2}, OpsPerSec: []float64{1e8, 1e8}, CPUPerOp: []float64{10, 10}}, 0},
		{"rates only, half", evidence.Scaling{Procs: []int{1, 2}, OpsPerSec: []float64{1e8, 5e7}}, 0.75},
		{"rates only, the same: that may be noise", evidence.Scaling{Procs: []int{1, 2}, OpsPerSec: []float64{1e8, 1.1e8}}, 0},
		{"eight processors", evidence.Scaling{Procs: []int{1, 8}, OpsPerSec: []float64{1e8, 1e8}, CPUPerOp: []float64{10, 80}}, 0.875},
	} {
		f := found(&evidence.Evidence{CPU: cpu, Scaling: &c.scaling}, "shared-line")
		if d := f.Score - c.want; d > 0.006 || d < -0.006 {
			t.Errorf("%s: %.3f, want %.3f", c.name, f.Score, c.want)
		}
	}
	// The same loss in system calls or at a lock has other reasons.
	sc := &evidence.Scaling{Procs: []int{1, 2}, OpsPerSec: []float64{1e8, 4e7}, CPUPerOp: []float64{10, 50}}
	for _, p := range []*evidence.Profile{profile("ns", stack(1, syscall, write, "main.send")), profile("ns", stack(1, "runtime.lock2", "sync.(*Mutex).Lock", "main.f"))} {
		if f := found(&evidence.Evidence{CPU: p, Scaling: sc}, "shared-line"); f.Score != 0 {
			t.Errorf("%+v", f)
		}
	}
	if f := found(&evidence.Evidence{CPU: profile("ns", stack(1, "sync/atomic.(*Uint64).Add", "main.count")), Scaling: sc}, "shared-line"); !strings.Contains(f.Clue, "atomic") || !strings.HasPrefix(f.Top, "main.count") {
		t.Errorf("%+v", f)
	}
}
