package planted

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/gobench"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/mem"
)

func TestTheDefinitionsAgreeWithEachOther(t *testing.T) {
	all := All()
	if err := measure.Validate(all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 6 {
		t.Errorf("%d workloads", len(all))
	}
	for _, s := range all {
		if s.Title == "" || s.Op == "" || !s.Named {
			t.Errorf("%s: %+v", s.Name, s)
		}
		if len(s.Variants) != 2 || s.Variants[0].Name != Fault || s.Variants[1].Name != Mended {
			t.Errorf("%s: the variants are not the fault and the mended one", s.Name)
		}
		for _, v := range s.Variants {
			if v.About == "" {
				t.Errorf("%s, %s does not say what it is", s.Name, v.Name)
			}
		}
	}
}

// TestMendingChangesNothingButTheTime runs both variants of each workload, and
// one of them twice as often, since variants need not have done the same before.
func TestMendingChangesNothingButTheTime(t *testing.T) {
	for _, s := range All() {
		t.Run(s.Name, func(t *testing.T) {
			before := holdings(t)
			var runners []lab.Runner
			for _, v := range s.Variants {
				r, err := v.Open(lab.Env{Seed: 5, Dir: t.TempDir()})
				if err != nil {
					t.Fatal(err)
				}
				runners = append(runners, r)
			}
			for _, ops := range []int{1, 37, min(3000, s.Ops)} {
				var samples []lab.Sample
				for _, i := range []int{0, 1, 0} {
					got, err := runners[i].Run(ops)
					if err != nil {
						t.Fatalf("%s: %d operations: %v", s.Variants[i].Name, ops, err)
					}
					samples = append(samples, got)
				}
				for _, got := range samples[1:] {
					if got.Check != samples[0].Check || got.Bytes != samples[0].Bytes {
						t.Errorf("%d operations come to %d bytes and sum %#x, then to %d and %#x",
							ops, samples[0].Bytes, samples[0].Check, got.Bytes, got.Check)
					}
				}
				if samples[0].Check == 0 || samples[0].Bytes == 0 {
					t.Errorf("%d operations come to %d bytes and sum %#x", ops, samples[0].Bytes, samples[0].Check)
				}
			}
			for i, r := range runners {
				if err := r.Close(); err != nil {
					t.Errorf("%s: close: %v", s.Variants[i].Name, err)
				}
			}
			leavesNothing(t, before)
		})
	}
}

func TestARunnerThatNeverRanEndsToo(t *testing.T) {
	for _, s := range All() {
		before := holdings(t)
		for _, v := range s.Variants {
			r, err := v.Open(lab.Env{Seed: 5, Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Close(); err != nil {
				t.Errorf("%s, %s: %v", s.Name, v.Name, err)
			}
		}
		leavesNothing(t, before)
	}
}

func TestALogThatWasChangedIsFoundOut(t *testing.T) {
	r, err := newAccessLog(lab.Env{Dir: t.TempDir()}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(10); err != nil {
		t.Fatal(err)
	}
	r.(*accessLog).sum++
	if err := r.Close(); err == nil {
		t.Error("the lines differ and nobody noticed")
	}
}

func BenchmarkPlanted(b *testing.B) {
	for _, s := range All() {
		b.Run(s.Name, func(b *testing.B) { gobench.Bench(b, s) })
	}
}

// holds is what a process has besides memory.
type holds struct{ goroutines, files, blocks int }

func holdings(t *testing.T) holds {
	t.Helper()
	h := holds{goroutines: runtime.NumGoroutine(), blocks: mem.Default().Stats().CheckedOut}
	if runtime.GOOS == "linux" {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		h.files = len(list)
	}
	return h
}

// leavesNothing waits until nothing is held that was not before.
func leavesNothing(t *testing.T, before holds) {
	t.Helper()
	var now holds
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); runtime.Gosched() {
		now = holdings(t)
		if now.goroutines <= before.goroutines && now.files <= before.files && now.blocks <= before.blocks {
			return
		}
	}
	t.Errorf("left behind: %+v, before: %+v", now, before)
}
