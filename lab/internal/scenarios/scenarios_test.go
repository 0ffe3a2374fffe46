package scenarios

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/mem"
)

// opened is a variant that was opened.
type opened struct {
	name   string
	runner lab.Runner
}

// openAll opens the variants of s that this machine supports. They are closed
// with the test at the latest.
func openAll(t *testing.T, s lab.Scenario) []opened {
	t.Helper()
	var list []opened
	for _, v := range s.Variants {
		r, err := v.Open(lab.Env{Seed: 5, Dir: t.TempDir(), Self: self(t), Quick: true})
		if errors.Is(err, errors.ErrUnsupported) {
			t.Logf("%s: %v", v.Name, err)
			continue
		}
		if err != nil {
			t.Fatalf("%s: open: %v", v.Name, err)
		}
		t.Cleanup(func() {
			if err := r.Close(); err != nil {
				t.Errorf("%s: close: %v", v.Name, err)
			}
		})
		list = append(list, opened{v.Name, r})
	}
	return list
}

// rounds are the operations that are tried on a scenario: one, an odd number,
// and enough to go around most rings.
func rounds(s lab.Scenario) []int {
	switch {
	case s.Fixed:
		return []int{s.Ops}
	case s.Ops == 1:
		return []int{1, 3}
	case s.Metric == lab.CPUPerOp:
		return []int{1, 37, 1 + s.Ops/20}
	case underRace:
		return []int{1, 37, 3000}
	}
	return []int{1, 37, 9000}
}

// others are left to make long: they take the longest, and each does what another scenario does in another protocol or
// number.
var others = []string{"relay/rtmp-200", "relay/adapt-flv-50", "cluster/origin-8", "echo/ping-pong-1p", "echo/1x64KiB",
	"streams/10000", "budget/1000", "fanout/1000"}

func TestAllVariantsDoTheSameWorkAndLeaveNothing(t *testing.T) {
	if !underRace {
		// Once, not for each variant.
		program, err := relayProgram(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv(relayProgramEnv, program)
	}
	// The goroutine that starts children stays.
	if c, err := tcpWriter.start(self(t), tcpWork{}); err == nil {
		c.Stop()
	}
	for _, s := range All() {
		if underRace && s.Named {
			continue // the servers are processes that the detector does not see
		}
		switch {
		case s.Name == "relay/tls-200", s.Name == "relay/joins-4000", s.Name == "relay/streams-1000":
			continue // in a quick run they are those of other names but for a flag
		case strings.HasPrefix(s.Name, "relay/") && strings.HasSuffix(s.Name, "-1000") && s.Name != "relay/publishers-1000":
			continue // those of 200 with more viewers
		case os.Getenv("SLUICE_LONG") == "" && slices.Contains(others, s.Name):
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			before := holdings(t)
			t.Run("work", func(t *testing.T) { sameWork(t, s) })
			leavesNothing(t, before)
		})
	}
}

func sameWork(t *testing.T, s lab.Scenario) {
	list := openAll(t, s)
	samples := map[string]lab.Sample{}
	for _, ops := range rounds(s) {
		var first lab.Sample
		for i, v := range list {
			got, err := v.runner.Run(ops)
			if err != nil {
				t.Fatalf("%s: %d operations: %v", v.name, ops, err)
			}
			if i == 0 {
				first = got
			}
			samples[v.name] = got
			if got.Check != first.Check || got.Bytes != first.Bytes {
				t.Errorf("%s: %d operations come to %d bytes and sum %#x, those of %s to %d and %#x",
					v.name, ops, got.Bytes, got.Check, list[0].name, first.Bytes, first.Check)
			}
		}
		if first.Check == 0 {
			t.Errorf("%d operations have no sum", ops)
		}
	}
	for _, target := range s.Targets {
		switch target.Metric {
		case "", lab.NsPerOp, lab.CPUPerOp, lab.AllocsPerOp, lab.GCRuns:
			continue
		}
		got, run := samples[target.Variant]
		if !run {
			continue // it is not supported here
		}
		if _, ok := got.Figures[target.Metric]; !ok {
			t.Errorf("%s does not report %s, for which there is a target", target.Variant, target.Metric)
		}
	}
}

// holds is what a process has besides memory.
type holds struct {
	goroutines, files int
	children          string
	blocks            int
}

func holdings(t *testing.T) holds {
	t.Helper()
	h := holds{
		goroutines: runtime.NumGoroutine(),
		blocks:     mem.Default().Stats().CheckedOut,
	}
	if runtime.GOOS == "linux" {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		h.files = len(list)
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			// Some kernels do not have this file.
			list, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%s/children", task.Name()))
			h.children += string(list)
		}
	}
	return h
}

// leavesNothing waits until nothing is held that was not before. What has
// ended may take a moment to be gone.
func leavesNothing(t *testing.T, before holds) {
	t.Helper()
	var now holds
	for end := time.Now().Add(time.Minute); time.Now().Before(end); runtime.Gosched() {
		now = holdings(t)
		if now.goroutines <= before.goroutines && now.files <= before.files && now.children == before.children &&
			now.blocks <= before.blocks {
			return
		}
	}
	t.Errorf("left behind: %+v, before: %+v", now, before)
}

// TestPromisedAllocationsAreNone holds every promise of allocations, mostly of none, without
// collections, which empty pools.
func TestPromisedAllocationsAreNone(t *testing.T) {
	if underRace || invariant.Enabled {
		t.Skip("this build keeps blocks from being used again")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	promises := 0
	for _, s := range All() {
		for _, target := range s.Targets {
			if target.Metric != lab.AllocsPerOp {
				continue
			}
			promises++
			v := s.Variants[slices.IndexFunc(s.Variants, func(v lab.Variant) bool { return v.Name == target.Variant })]
			r, err := v.Open(lab.Env{Seed: 5, Dir: t.TempDir(), Self: self(t), Quick: true})
			if errors.Is(err, errors.ErrUnsupported) {
				t.Logf("%s/%s: %v", s.Name, v.Name, err)
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			const ops = 20_000
			if least, err := leastMallocs(r, ops); err != nil || least > ops*uint64(target.AtMost)+ops/2000 {
				t.Errorf("%s/%s: %d allocations in %d operations, error %v", s.Name, v.Name, least, ops, err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if promises == 0 {
		t.Error("nothing promises to allocate nothing")
	}
}

// leastMallocs returns the fewest allocations of a few rounds. Not all rounds
// are the same: a goroutine that changes its processor leaves a block behind
// in the pool of the old one, and goroutines that wait for each other may need
// a record for it.
func leastMallocs(r lab.Runner, ops int) (least uint64, err error) {
	least = math.MaxUint64
	for range 6 { // the first brings the memory
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		sample, err := r.Run(ops)
		if err != nil {
			return 0, err
		}
		runtime.ReadMemStats(&after)
		mallocs := after.Mallocs - before.Mallocs
		if each, ok := sample.Figures[lab.AllocsPerOp]; ok { // those of another process
			mallocs = uint64(math.Round(each * float64(ops)))
		}
		least = min(least, mallocs)
	}
	return least, nil
}

func TestAFanThatEndsHasReleasedEverything(t *testing.T) {
	s := frameKind{5, fanFrame, fanFrame}.frames()
	for name, open := range map[string]func(*fan[mem.Buf]) (walk, func()){
		"one goroutine": func(f *fan[mem.Buf]) (walk, func()) { return together(f, few) },
		"channels":      func(f *fan[mem.Buf]) (walk, func()) { return apiece(f, few, handing{keepers, 1, 64}) },
		"batches":       func(f *fan[mem.Buf]) (walk, func()) { return apiece(f, few, handing{2, 32, 4}) },
	} {
		// After so many frames the keepers have none, some, and all.
		for _, n := range []int{0, 1, keepDepth - 1, keepDepth, 3*keepDepth + 7} {
			a := mem.New(mem.Options{})
			walk, end := open(bufFan(s.source(0), a))
			if _, err := walk(n); err != nil {
				t.Fatal(err)
			}
			end()
			if left := a.Stats().CheckedOut; left != 0 {
				t.Errorf("%s: %d blocks are out after %d frames and the end", name, left, n)
			}
		}
		// A source that breaks off in the middle must not leave the keepers
		// waiting.
		a := mem.New(mem.Options{})
		walk, end := open(bufFan(io.LimitReader(s.source(0), 300*fanFrame), a))
		if _, err := walk(1000); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: 1,000 frames of 300: %v", name, err)
		}
		end()
		if left := a.Stats().CheckedOut; left != 0 {
			t.Errorf("%s: %d blocks are out after a source that broke off", name, left)
		}
	}
}
