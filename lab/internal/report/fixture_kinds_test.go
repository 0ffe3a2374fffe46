package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose"
	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/matrix"
	"github.com/sluice-go/sluice/lab/internal/proc"
	"github.com/sluice-go/sluice/lab/internal/stats"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// testMachine knows everything that can be known.
func testMachine() machine.Machine {
	return machine.Machine{
		OS: "linux", Arch: "amd64", Kernel: "6.1", CPU: "Test CPU @ 3 GHz", Cores: 2, GOMAXPROCS: 2, GOGC: "100", Go: "go1.25.0",
		Memory: 16 << 30, OpenFiles: 1024,
	}
}

func distribution(rng *rand.Rand, scale time.Duration, tail float64) *load.Distribution {
	d := &load.Distribution{Count: 123_456}
	at := func(q float64) time.Duration {
		return time.Duration(float64(scale) * (1 + tail*math.Pow(-math.Log10(1-min(q, 0.999999)), 2)) * (1 + 0.001*rng.Float64()))
	}
	var last time.Duration
	for i := range 90 {
		q := 1 - math.Pow(10, -float64(i)/18)
		last = max(last, at(q))
		d.Curve = append(d.Curve, load.Quantile{Q: q, At: last})
	}
	d.Max = last * 2
	d.Curve = append(d.Curve, load.Quantile{Q: 1, At: d.Max})
	d.Min, d.Mean, d.P50, d.P90, d.P99, d.P999 = at(0), at(0.6), at(0.5), at(0.9), at(0.99), at(0.999)
	return d
}

// loadFixture is an open-loop run whose speed and tail are factors of the usual.
func loadFixture(speed, tail float64, seed uint64) *load.Result {
	rng := rand.New(rand.NewPCG(seed, 3))
	p := load.Default()
	p.Target, p.Conns, p.Depth, p.Rate, p.Duration = "127.0.0.1:7000", 64, 4, 20_000, 30*time.Second
	queued := 800 * time.Millisecond
	r := &load.Result{
		Origin: machine.Origin{
			Kind: load.Kind, Schema: load.Schema, Version: "devel", Command: []string{"lab", "load", "<b>x</b>"}, Machine: testMachine(),
			Started: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		},
		Plan: p, Valid: true, Measured: p.Duration, Gap: time.Second,
		Requests: 600_000, Bytes: 600_000 * 128, IOPS: 20_000 * speed, Throughput: 20_000 * 128 * speed, Late: 0.002, LateAfter: time.Millisecond, Busy: 0.31,
		Latency: distribution(rng, 90*time.Microsecond, 1.2*tail), Service: distribution(rng, 80*time.Microsecond, 0.5*tail),
		Calibration: &load.Calibration{Timer: *distribution(rng, 60*time.Microsecond, 0.2), LateAfter: time.Millisecond},
		Generator:   load.Use{Spent: proc.Spent{CPU: 9 * time.Second, Queued: &queued, Resident: 30 << 20}, CPUPerOp: 4200},
		Target:      &load.Use{Spent: proc.Spent{CPU: 12 * time.Second, Resident: 60 << 20}, CPUPerOp: 6100 / speed},
	}
	for i := range 30 {
		v := 20_000 * 128 * speed * (1 + 0.06*rng.NormFloat64())
		r.Series = append(r.Series, load.Second{At: time.Duration(i+1) * time.Second, Requests: uint64(v / 128), Bytes: uint64(v), Rate: v})
		w := load.DueWindow{At: time.Duration(i+1) * time.Second, Count: 20_000}
		scatter := tail * math.Exp(0.05*rng.NormFloat64())
		if w.P50, w.P99, w.P999 = time.Duration(90e3*scatter), time.Duration(420e3*scatter), time.Duration(800e3*scatter); i == 10 {
			w.Count = 0 // a stall: nothing was sent
		}
		r.Due = append(r.Due, w)
	}
	return r
}

// invalidLoad is one in which the generator was the limit.
func invalidLoad() *load.Result {
	r := loadFixture(0.4, 3, 9)
	r.Valid, r.Reasons = false, []load.Reason{{Code: load.GeneratorLate, Text: "12 % of the sends were late by the generator's own fault, more than 5 %"}, {Code: load.GeneratorFull, Text: "the generator was out of CPU: its busiest thread worked for 99 % of the time"}}
	r.Late, r.Busy = 0.12, 0.99
	return r
}

// matrixFixture is a grid of two engines, with invalid cells, one that was not reached, and
// a knee. Everything is by a factor faster than usual.
func matrixFixture(speed float64, seed uint64) *matrix.File {
	rng := rand.New(rand.NewPCG(seed, 4))
	f := &matrix.File{
		Origin: machine.Origin{
			Kind: matrix.Kind, Schema: matrix.Schema, Version: "devel", Command: []string{"lab", "matrix", "size-conns"}, Machine: testMachine(),
			Started: time.Date(2026, 3, 4, 6, 0, 0, 0, time.UTC),
		},
		Seconds: 600, Name: "size-conns", Title: "sizes by connections", Seed: 1, Repeats: 10, NoiseOf: matrix.Throughput, CellTime: time.Second,
		Layers: []string{"std", "aio"},
		Rows:   matrix.Axis{Name: "size", Unit: "B"}, Columns: matrix.Axis{Name: "connections", Unit: "connections"},
		Figures: []matrix.Figure{{Name: matrix.Throughput, Title: "throughput", Metric: "B/s", More: true}, {Name: matrix.P99, Title: "P99", Metric: "ns"}},
		Knees:   []matrix.Knee{{Layer: 1, Along: "connections", Column: 3, Label: "64", Rule: "beyond it the throughput grows by less than a tenth for twice the connections", Figure: matrix.Throughput}},
	}
	for size := 64; size <= 1<<20; size *= 4 {
		f.Rows.Values, f.Rows.Labels = append(f.Rows.Values, float64(size)), append(f.Rows.Labels, units.Bytes(float64(size)))
	}
	for conns := 1; conns <= 1024; conns *= 4 {
		f.Columns.Values, f.Columns.Labels = append(f.Columns.Values, float64(conns)), append(f.Columns.Labels, fmt.Sprint(conns))
	}
	f.Knees = append(f.Knees, matrix.Knee{Layer: 0, Along: "connections", Row: 1, Column: 2, Label: "16", Open: true, Note: "the grid ends there", Figure: matrix.Throughput})
	for l := range f.Layers {
		for i, size := range f.Rows.Values {
			for j, conns := range f.Columns.Values {
				c := matrix.Cell{Layer: l, Row: i, Column: j, Runs: []matrix.Run{}}
				for round := range 10 {
					noise := 1 + 0.04*rng.NormFloat64()
					run := matrix.Run{Valid: true, Figures: map[string]float64{
						matrix.Throughput: speed * noise * size * 40_000 * math.Sqrt(conns) / (1 + size/40_000) / (1 + conns/300) * float64(l+4) / 4,
						matrix.P99:        1 / speed / noise * (50_000 + 9_000*conns + 8*size),
					}}
					if i == 1 && j == 5 || i == 2 && j == 4 && round == 0 {
						run.Valid, run.Reason = false, "sends were late"
						run.Behind = i == 1
						delete(run.Figures, matrix.P99)
					}
					c.Runs = append(c.Runs, run)
				}
				if l == 1 && i == 7 && j == 5 {
					c.Runs = nil
				}
				f.Cells = append(f.Cells, c)
			}
		}
	}
	return f
}

// diagnosisFixture has all that the tools may say.
func diagnosisFixture() *diagnose.Diagnosis {
	frames := func(names ...string) []evidence.Frame {
		var list []evidence.Frame
		for i, name := range names {
			list = append(list, evidence.Frame{Func: name, File: "file.go", Line: 10 + i})
		}
		return list
	}
	const own = "github.com/sluice-go/sluice/"
	rng := rand.New(rand.NewPCG(5, 6))
	cpu := &evidence.Profile{Unit: "ns"}
	for i, s := range [][]string{
		{"syscall.Syscall", "syscall.write", "internal/poll.(*FD).Write", "net.(*netFD).Write", "net.(*conn).Write", own + "cmd/sluice/internal/lab/faulty.smallWrites", "main.main", "runtime.main"},
		{"runtime.memmove", own + "mem.(*Buf).Append", own + "cmd/sluice/internal/lab/faulty.smallWrites", "main.main", "runtime.main"},
		{"syscall.Syscall", "syscall.read", "internal/poll.(*FD).Read", "net.(*conn).Read", "github.com/sluice-go/sluice.(*BufReader).fill", "main.main", "runtime.main"},
		{"runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker"},
		{"encoding/binary.bigEndian.Uint32", own + "cmd/sluice/internal/lab/faulty.parse[go.shape.int]", "main.main", "runtime.main"},
		{"example.com/other/pkg.(*T).Do", "main.main", "runtime.main"},
		{"do_syscall_64", "entry_SYSCALL_64_after_hwframe", "syscall.Syscall", "main.main", "runtime.main"},
	} {
		v := int64(4e9 / float64(i+1))
		cpu.Stacks = append(cpu.Stacks, evidence.Stack{Value: v, Count: v / 1e7, Frames: frames(s...)})
		cpu.Total += v
	}
	for i := range 60 {
		v := int64(rng.IntN(50_000_000))
		cpu.Stacks = append(cpu.Stacks, evidence.Stack{Value: v, Frames: frames(fmt.Sprintf("main.leaf%d", i), fmt.Sprintf("main.branch%d", i%7), "main.main", "runtime.main")})
		cpu.Total += v
	}
	space := &evidence.Profile{Unit: "B", Total: 1 << 30, Stacks: []evidence.Stack{
		{Value: 900 << 20, Frames: frames("bytes.Clone", own+"cmd/sluice/internal/lab/faulty.perPacket", "main.main", "runtime.main")},
		{Value: 124 << 20, Frames: frames("bufio.NewReaderSize", "main.main", "runtime.main")},
	}}
	return &diagnose.Diagnosis{
		Origin: machine.Origin{
			Kind: diagnose.Kind, Schema: diagnose.Schema, Version: "devel", Command: []string{"lab", "diagnose", "faulty/small-writes"}, Machine: testMachine(),
			Started: time.Date(2026, 3, 4, 7, 0, 0, 0, time.UTC),
		},
		Findings: []diagnose.Finding{
			{Rule: "small-writes", Tool: "strace", Top: "write", Share: 0.93, Clue: "93 % of the writes were under 512 B, most often 64 B", Try: "write through a BufWriter of 16 KiB or more", Score: 0.7},
			{Rule: "garbage", Tool: "pprof allocs", Top: own + "cmd/sluice/internal/lab/faulty.perPacket", Share: 0.88, Clue: "88 % of the bytes were allocated in one place, for each packet", Try: "lend a view instead of a copy", Score: 0.2},
			{Tool: "trace", Top: "network", Share: 0.78, Clue: "blocked 78 % in reads from the network"},
		},
		Evidence: evidence.Evidence{
			Workload: "faulty/small-writes fault", Took: 3 * time.Second, CPUTime: 2900 * time.Millisecond,
			Tools: []evidence.Tool{{Name: "pprof cpu", State: "ok"}, {Name: "perf record", State: "missing", Note: "no such program"}},
			CPU:   cpu, Space: space,
			Mutex: &evidence.Profile{Unit: "ns", Total: 5e6, Stacks: []evidence.Stack{{Value: 5e6, Frames: frames("sync.(*Mutex).Unlock", "main.main")}}},
			Waits: &evidence.Waits{
				Took: 3 * time.Second, Samples: 300, First: 4, Last: 4, Running: 0.7, Waiting: 3, Syscall: 0.3,
				Places: []evidence.Place{{Reason: "sync.Mutex.Lock", Mean: 0.7, First: 1, Last: 1, WhileIO: 0.5, Frames: frames("sync.(*Mutex).Lock", "sync.(*Mutex).lockSlow", own+"x.locked")}},
			},
			Calls: &evidence.Calls{Took: 3 * time.Second, Total: 1_010_000, ByName: []evidence.Call{
				{Name: "write", Count: 1_000_000, Time: 2 * time.Second, Bytes: 64_000_000, Full: 1_000_000, Sizes: []evidence.Size{{Bytes: 64, Count: 1_000_000}}, Asked: []evidence.Size{{Bytes: 64, Count: 1_000_000}}},
				{Name: "epoll_pwait", Count: 10_000, Errors: 3, Time: time.Second},
			}},
			Sharing: &evidence.Sharing{Samples: 1000, Parallel: 0.5},
		},
	}
}

// pairFixture is two targets of which the second takes a fifth longer.
func pairFixture() *load.Pair {
	ratios := []float64{1.2, 1.19, 1.21, 1.2, 1.18, 1.22, 1.2}
	return &load.Pair{
		Origin:  machine.Origin{Kind: load.PairKind, Schema: load.Schema, Command: []string{"lab", "load", "--compare"}, Machine: testMachine()},
		Targets: [2]string{"127.0.0.1:1", "127.0.0.1:2"}, Rounds: len(ratios), Median: stats.Compare(ratios),
	}
}

// searchFixture is a search that found a rate.
func searchFixture() *load.Found {
	return &load.Found{
		Origin: machine.Origin{Kind: load.SearchKind, Schema: load.Schema, Machine: testMachine()}, Limit: load.Limit{Quantile: 0.99, Latency: 5 * time.Millisecond},
		Rate: 12_800, Steps: []load.Step{{Rate: 12_800, Latency: 4 * time.Millisecond, Holds: true}, {Rate: 25_600, Latency: 9 * time.Millisecond}},
	}
}

// written is a result as it stands in a file.
func written(t testing.TB, result any) []byte {
	t.Helper()
	if f, ok := result.(*File); ok {
		var b bytes.Buffer
		if err := f.Save(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	text, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// opened reads what was written.
func opened(t testing.TB, name string, result any) *Result {
	t.Helper()
	r, err := Read(bytes.NewReader(written(t, result)), name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

// everything is a result of each kind, and of some more than one.
func everything(t testing.TB) []*Result {
	t.Helper()
	second := fixture()
	second.Interrupted = false
	return []*Result{
		opened(t, "load.json", loadFixture(1, 1, 1)), opened(t, "load-2.json", loadFixture(1.4, 0.6, 2)), opened(t, "invalid.json", invalidLoad()),
		opened(t, "matrix.json", matrixFixture(1, 1)), opened(t, "diagnosis.json", diagnosisFixture()),
		opened(t, "bench.json", fixture()), opened(t, "bench-2.json", second), opened(t, "pair.json", pairFixture()), opened(t, "search.json", searchFixture()),
	}
}

// reported is the page of some results.
func reported(t testing.TB, results ...*Result) string {
	t.Helper()
	var b strings.Builder
	if err := WriteReport(&b, results, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
