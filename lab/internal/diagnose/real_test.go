package diagnose

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/planted"
)

// record makes the recorded evidence anew, from real runs.
var record = flag.Bool("record", false, "run the planted workloads and write testdata")

// TestMain makes this test binary answer the child commands, as the program does.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "child" {
		run := evidence.Children(workloads())[os.Args[2]]
		if run == nil {
			fmt.Fprintln(os.Stderr, "no such child")
			os.Exit(2)
		}
		if err := run(os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// workloads are those of package planted and those of these tests.
func workloads() []lab.Scenario { return append(planted.All(), otherForms()...) }

// collect runs a workload under the tools, each for a time.
func collect(t *testing.T, name, variant string, each time.Duration, tools ...string) *evidence.Evidence {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range workloads() {
		if s.Name != name {
			continue
		}
		e, err := evidence.Collect(t.Context(), evidence.Workload{Name: name + " " + variant, Scenario: &s, Variant: variant},
			evidence.Options{Self: self, Each: each, Seed: 1, Tools: tools, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range e.Tools {
			if tool.State != evidence.OK {
				t.Logf("%s %s: %s", tool.Name, tool.State, tool.Note)
			}
		}
		return &e
	}
	t.Fatalf("there is no workload %s", name)
	return nil
}

// quickTools are what the rules need at least, and strace where it is: perf only
// adds to it, and takes seconds.
var quickTools = []string{evidence.ToolCPU, evidence.ToolAllocs, evidence.ToolTrace, evidence.ToolStrace, evidence.ToolScaling}

// look is how long each tool looks in these tests.
const look = 250 * time.Millisecond

// namedFirst runs a workload under real tools until the rule is the first, a
// few times at most: on a machine that does something else at the moment one
// look may see only that. A healthy machine needs one.
func namedFirst(t *testing.T, scenario, variant, rule, place string, tools []string) {
	t.Helper()
	if underRace {
		t.Skip("the race detector would be what costs most")
	}
	if rule == "shared-line" && runtime.NumCPU() < 2 {
		t.Skip("nothing is shared on one processor")
	}
	const tries = 6
	var said strings.Builder
	crowded := false
	for try := range tries {
		d := &Diagnosis{Evidence: *collect(t, scenario, variant, look<<min(try, 3), tools...)}
		d.Findings = Diagnose(&d.Evidence)
		f, ok := First(d.Findings)
		if ok && f.Rule == rule && strings.Contains(f.Top, place) && f.Try != "" {
			if try > 0 {
				t.Logf("only the look number %d saw it", try+1)
			}
			return
		}
		// Goroutines that never run at the same time share nothing.
		crowded = rule == "shared-line" && d.Evidence.Queued > d.Evidence.CPUTime
		said.Reset()
		fmt.Fprintf(&said, "%+v\n", d.Findings)
	}
	if crowded {
		t.Skip("others have the processors: two goroutines hardly run at the same time here")
	}
	t.Errorf("%s is not named first:\n%s", rule, said.String())
}

// faults are the workloads of package planted, the rule that must find each, and
// the part of the place that the finding must name.
var faults = []struct{ name, rule, place string }{
	{"small-writes", "small-writes", "send"},
	{"slice-per-packet", "allocations", "readPacket"},
	{"shared-counter", "shared-line", "work"},
	{"lock-over-io", "lock-over-io", "put"},
	{"small-buffer", "small-buffer", "checksum"},
	{"small-flushes", "flush-per-write", "flush"},
}

func TestPlantedFaultsAreNamedFirstByRealTools(t *testing.T) {
	if *record {
		t.Skip("recording")
	}
	for _, c := range faults {
		t.Run(c.name, func(t *testing.T) {
			namedFirst(t, "planted/"+c.name, planted.Fault, c.rule, c.place, quickTools)
		})
	}
}

func TestFaultsOfCallsAreNamedFirstWithoutStrace(t *testing.T) {
	for _, c := range faults {
		if c.name == "small-writes" || c.name == "small-buffer" || c.name == "small-flushes" {
			t.Run(c.name, func(t *testing.T) {
				namedFirst(t, "planted/"+c.name, planted.Fault, c.rule, c.place, []string{evidence.ToolCPU, evidence.ToolTrace})
			})
		}
	}
}

// kept is how many stacks and places are recorded.
const kept = 40

func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("with -record only")
	}
	for _, s := range planted.All() {
		for _, v := range s.Variants {
			t.Run(s.Name+"/"+v.Name, func(t *testing.T) {
				text, err := json.Marshal(pruned(collect(t, s.Name, v.Name, time.Second)))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(recording(s.Name, v.Name), append(text, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// pruned leaves the largest of everything.
func pruned(e *evidence.Evidence) *evidence.Evidence {
	for _, p := range []*evidence.Profile{e.CPU, e.Space, e.Allocs, e.Mutex, e.Block} {
		if p != nil {
			p.Stacks = p.Stacks[:min(kept, len(p.Stacks))]
		}
	}
	if e.Perf != nil {
		e.Perf.Profile = nil
	}
	if e.Allocs != nil {
		e.Allocs.Stacks = nil
	}
	if t := e.Trace; t != nil {
		t.Blocked, t.InSyscall = t.Blocked[:min(kept, len(t.Blocked))], t.InSyscall[:min(kept/2, len(t.InSyscall))]
	}
	if e.Calls != nil {
		for i := range e.Calls.ByName {
			c := &e.Calls.ByName[i]
			c.Sizes, c.Asked = c.Sizes[:min(8, len(c.Sizes))], c.Asked[:min(8, len(c.Asked))]
		}
	}
	return e
}

func recording(scenario, variant string) string {
	return filepath.Join("testdata", strings.TrimPrefix(scenario, "planted/")+"-"+variant+".json")
}

// recorded reads recorded evidence.
func recorded(t testing.TB, scenario, variant string) *evidence.Evidence {
	t.Helper()
	text, err := os.ReadFile(recording(scenario, variant))
	if err != nil {
		t.Fatal(err)
	}
	var e evidence.Evidence
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatal(err)
	}
	return &e
}

// without takes what a tool saw out of the evidence.
func without(e *evidence.Evidence, tools ...string) *evidence.Evidence {
	c := *e
	c.Tools = slices.Clone(e.Tools)
	for _, tool := range tools {
		switch tool {
		case evidence.ToolCPU:
			c.CPU, c.ReadCalls, c.WriteCalls = nil, 0, 0
		case evidence.ToolAllocs:
			c.Space, c.Allocs = nil, nil
		case evidence.ToolLocks:
			c.Mutex, c.Block = nil, nil
		case evidence.ToolTrace:
			c.Trace = nil
		case evidence.ToolStrace:
			c.Calls = nil
		case evidence.ToolPerfStat, evidence.ToolPerfRecord:
			c.Perf = nil
		case evidence.ToolScaling:
			c.Scaling = nil
		}
		for i := range c.Tools {
			if c.Tools[i].Name == tool {
				c.Tools[i] = evidence.Tool{Name: tool, State: evidence.Missing, Note: "it is not in PATH"}
			}
		}
	}
	return &c
}
