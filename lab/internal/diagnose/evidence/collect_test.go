package evidence

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func work(variant string) Workload {
	return Workload{Name: "tiny " + variant, Scenario: tiny(), Variant: variant}
}

// collected runs a tool or several, and checks that nothing is left behind.
func collected(t *testing.T, variant string, tools ...string) Evidence {
	t.Helper()
	dir := t.TempDir()
	e, err := Collect(t.Context(), work(variant), Options{Self: self(t), Each: 200 * time.Millisecond, Seed: 1, Tools: tools, Dir: dir})
	if err != nil {
		t.Fatalf("%v: %+v", err, e.Tools)
	}
	checkLeft(t, dir)
	if e.Workload != "tiny "+variant {
		t.Errorf("the workload is called %q", e.Workload)
	}
	return e
}

// checkLeft looks for files in a directory and for processes that got its name
// as an argument.
func checkLeft(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if left := processesOf(dir); len(left) > 0 {
		t.Errorf("still there: %q", left)
	}
}

// processesOf are the command lines in which a directory is named, where the
// system shows them.
func processesOf(dir string) []string {
	var found []string
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), dir) {
			found = append(found, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return found
}

func state(t *testing.T, e Evidence, tool string) Tool {
	t.Helper()
	i := slices.IndexFunc(e.Tools, func(x Tool) bool { return x.Name == tool })
	if i < 0 {
		t.Fatalf("nothing is said of %s: %+v", tool, e.Tools)
	}
	return e.Tools[i]
}

func TestProfilesOfAWorkload(t *testing.T) {
	t.Parallel()
	e := collected(t, "allocates", ToolCPU, ToolAllocs)
	if e.Ops == 0 || e.Bytes != e.Ops*1000 || e.Took < 200*time.Millisecond {
		t.Errorf("%d operations, %d bytes in %v", e.Ops, e.Bytes, e.Took)
	}
	if s := share(e.Space, "evidence.allocator.Run"); s < 0.95 {
		t.Errorf("%.2f of the bytes are the workload's: %+v", s, e.Space.Stacks)
	}
	if each := float64(e.Space.Total) / float64(e.Allocs.Total); each < 1000 || each > 1100 {
		t.Errorf("%.0f bytes each", each)
	}
	if e.CPU == nil {
		t.Error("no CPU profile")
	}
}

func TestWhatDoesNotAllocateShowsNothing(t *testing.T) {
	t.Parallel()
	e := collected(t, "writes", ToolAllocs)
	if e.Allocs.Total > e.Ops/100 {
		t.Errorf("%d objects in %d operations: %+v", e.Allocs.Total, e.Ops, e.Allocs.Stacks)
	}
}

func TestLocksOfAWorkload(t *testing.T) {
	t.Parallel()
	e := collected(t, "locks", ToolLocks, ToolTrace)
	if s := share(e.Mutex, "evidence.(*lockers).locked"); s < 0.8 {
		t.Errorf("%.2f of the waits at locks: %+v", s, e.Mutex)
	}
	if share(e.Block, "evidence.(*lockers).locked") == 0 {
		t.Errorf("%+v", e.Block)
	}
	if b := waitIn(t, e.Trace, "sync", "evidence.(*lockers).locked"); b.WhileIO < b.Time/2 {
		t.Errorf("waited %v, %v of it for sleepers", b.Time, b.WhileIO)
	}
}

func TestScalingOfAWorkload(t *testing.T) {
	t.Parallel()
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("one processor")
	}
	s := collected(t, "writes", ToolScaling).Scaling
	if !slices.Equal(s.Procs, []int{1, runtime.GOMAXPROCS(0)}) || len(s.OpsPerSec) != 2 || s.OpsPerSec[0] <= 0 || s.OpsPerSec[1] <= 0 {
		t.Errorf("%+v", s)
	}
}

func TestSystemCallsOfAWorkload(t *testing.T) {
	t.Parallel()
	e := collected(t, "writes", ToolStrace, ToolCPU)
	if s := state(t, e, ToolStrace); s.State == Missing {
		t.Skip(s.Note)
	}
	c := callOf(t, e.Calls, "pwrite64")
	if c.Count == 0 || c.Under512 != c.Full || c.Sizes[0].Bytes != 64 || c.Bytes != c.Full*64 {
		t.Errorf("%+v", c)
	}
	// One for each operation, but for what was between the mark and the line.
	if e.Calls.Ops != 0 && (e.Calls.Ops < c.Count/2 || e.Calls.Ops > c.Count*2) {
		t.Errorf("%d operations, %d calls", e.Calls.Ops, c.Count)
	}
}

func TestPerfOfAWorkload(t *testing.T) {
	t.Parallel()
	e := collected(t, "writes", ToolPerfStat, ToolPerfRecord, ToolCPU)
	for _, tool := range []string{ToolPerfStat, ToolPerfRecord} {
		if s := state(t, e, tool); s.State == Missing {
			t.Skip(s.Note)
		} else if s.State != OK {
			t.Fatalf("%+v", s)
		}
	}
	if e.Perf.Counters["task-clock"] <= 0 || e.Perf.Took <= 0 {
		t.Errorf("%+v", e.Perf.Counters)
	}
	if e.Perf.Profile.Total <= 0 {
		t.Errorf("%+v", e.Perf.Profile)
	}
}

func TestMissingToolsAreNoError(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	e := collected(t, "writes", ToolPerfStat, ToolPerfRecord, ToolStrace, ToolCPU)
	for _, tool := range []string{ToolStrace, ToolPerfStat, ToolPerfRecord} {
		if s := state(t, e, tool); s.State != Missing || s.Note == "" {
			t.Errorf("%+v", s)
		}
	}
	if s := state(t, e, ToolCPU); s.State != OK {
		t.Errorf("%+v", s)
	}
}

func TestAWorkloadThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	for variant, why := range map[string]string{"cannot open": "no fixture today", "cannot run": "the disk is on fire"} {
		dir := t.TempDir()
		e, err := Collect(t.Context(), work(variant), Options{Self: self(t), Each: 100 * time.Millisecond, Tools: []string{ToolTrace, ToolCPU}, Dir: dir})
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", variant, err)
		}
		if s := state(t, e, ToolCPU); s.State != Failed || !strings.Contains(s.Note, why) {
			t.Errorf("%+v", s)
		}
		checkLeft(t, dir)
	}
}

func TestCollectRefuses(t *testing.T) {
	for name, err := range map[string]error{
		"a variant": second(Collect(t.Context(), work("nonsense"), Options{Self: self(t)})),
		"a tool":    second(Collect(t.Context(), work("writes"), Options{Self: self(t), Tools: []string{"oscilloscope"}})),
		"a program": second(Collect(t.Context(), work("writes"), Options{})),
		"a child":   second(Collect(t.Context(), work("writes"), Options{Self: "/nonexistent/program", Tools: []string{ToolCPU}})),
		"a place":   second(Collect(t.Context(), work("writes"), Options{Self: self(t), Dir: "/nonexistent"})),
	} {
		if err == nil {
			t.Errorf("%s that is not there is no error", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestAnInterruptLeavesWhatThereIsAndNothingBehind(t *testing.T) {
	t.Parallel()
	for _, during := range []string{ToolLocks, ToolStrace, ToolPerfRecord} {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		e, err := Collect(ctx, work("locks"), Options{
			Self: self(t), Each: time.Minute, Tools: []string{during, ToolScaling}, Dir: dir,
			Progress: func(string) { time.AfterFunc(200*time.Millisecond, cancel) },
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		// Where it is missing the next one was interrupted.
		if s := e.Tools[len(e.Tools)-1]; s.State != Failed || s.Note != "interrupted" {
			t.Errorf("%+v", e.Tools)
		}
		checkLeft(t, dir)
		cancel()
	}
}
