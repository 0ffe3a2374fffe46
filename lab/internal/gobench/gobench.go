package gobench

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// seed is the same for every run, so that the same bytes are read each time.
const seed = 1

// Metrics that Bench reports for all operations of a benchmark together, as
// they grow with b.N; -benchtime 100000x makes them comparable.
const (
	gcRuns  = "gc-runs"  // collections
	mbAlloc = "MB-alloc" // allocated, in units of 1,000,000 bytes
	mallocs = "mallocs"  // allocations
)

// Bench runs every variant of a scenario as a sub-benchmark named
// variant=NAME, as in the text that lab bench --benchstat writes. What
// testing measures is reported for each operation, and the metrics that runners
// report by themselves are means over the last call's runs. A variant that this machine does not support
// is skipped.
//
// A scenario whose number of operations is fixed is run b.N times with exactly
// that number; its times are divided by it.
func Bench(b *testing.B, s lab.Scenario) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for _, v := range s.Variants {
		bench(b, &s, v, lab.Env{Seed: seed, Self: self})
	}
}

func bench(b *testing.B, s *lab.Scenario, v lab.Variant, env lab.Env) {
	var runner lab.Runner
	b.Run("variant="+v.Name, func(sub *testing.B) {
		if runner == nil {
			// The directory of the parent lasts for all the calls.
			env.Dir = b.TempDir()
			opened, err := v.Open(env)
			if errors.Is(err, errors.ErrUnsupported) {
				sub.Skip(err)
			}
			if err != nil {
				sub.Fatalf("%s, %s: open: %v", s.Name, v.Name, err)
			}
			runner = opened
		}
		if err := measure(sub, s, runner); err != nil {
			sub.Fatalf("%s, %s: %v", s.Name, v.Name, err)
		}
	})
	if runner != nil {
		if err := runner.Close(); err != nil {
			b.Errorf("%s, %s: close: %v", s.Name, v.Name, err)
		}
	}
}

func measure(b *testing.B, s *lab.Scenario, runner lab.Runner) error {
	runs, ops := 1, b.N
	if s.Fixed {
		runs, ops = b.N, s.Ops
	}
	figures := map[string]float64{}
	var bytes int64
	var before, after runtime.MemStats

	b.ReportAllocs()
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ResetTimer()
	for range runs {
		sample, err := runner.Run(ops)
		if err != nil {
			return err
		}
		bytes += sample.Bytes
		for name, value := range sample.Figures {
			figures[name] += value
		}
	}
	b.StopTimer()
	runtime.ReadMemStats(&after)

	total := float64(runs) * float64(ops)
	if bytes > 0 {
		b.SetBytes(bytes / int64(b.N))
	}
	if s.Fixed {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/total, lab.NsPerOp)
		b.ReportMetric(float64(after.Mallocs-before.Mallocs)/total, lab.AllocsPerOp)
		b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/total, lab.BytesPerOp)
	}
	b.ReportMetric(float64(after.NumGC-before.NumGC), gcRuns)
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/1e6, mbAlloc)
	b.ReportMetric(float64(after.Mallocs-before.Mallocs), mallocs)
	for name, sum := range figures {
		// The testing package measures these itself and for all runners alike.
		if !slices.Contains([]string{lab.NsPerOp, lab.AllocsPerOp, lab.BytesPerOp, lab.GCRuns}, name) {
			b.ReportMetric(sum/float64(runs), name)
		}
	}
	return nil
}
