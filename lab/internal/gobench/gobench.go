// Package gobench lets go test -bench run the scenarios that lab bench runs, one variant
// after the other: for profiles, and for comparing two versions of the code with
// benchstat. A machine that drifts puts its drift into the comparison of variants; lab
// bench does not.
package gobench

import (
	"errors"
	"os"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// Bench runs every variant of a scenario as a sub-benchmark named variant=NAME, as in the
// text that lab bench --benchstat writes, with the metrics that runners report by
// themselves, of the last run. A variant that this machine does not support is skipped. A
// scenario whose number of operations is fixed is run b.N times with that number.
func Bench(b *testing.B, s lab.Scenario) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for _, v := range s.Variants {
		b.Run("variant="+v.Name, func(b *testing.B) {
			// The same seed for every run, so that the same bytes are read each time.
			runner, err := v.Open(lab.Env{Seed: 1, Self: self, Dir: b.TempDir()})
			if errors.Is(err, errors.ErrUnsupported) {
				b.Skip(err)
			}
			if err != nil {
				b.Fatal(err)
			}
			defer func() {
				if err := runner.Close(); err != nil {
					b.Error(err)
				}
			}()
			measure(b, &s, runner)
		})
	}
}

func measure(b *testing.B, s *lab.Scenario, runner lab.Runner) {
	runs, ops := 1, b.N
	if s.Fixed {
		runs, ops = b.N, s.Ops
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range runs {
		sample, err := runner.Run(ops)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(sample.Bytes * int64(runs) / int64(b.N))
		for name, value := range sample.Figures {
			if name != lab.NsPerOp && name != lab.AllocsPerOp && name != lab.BytesPerOp { // testing has its own
				b.ReportMetric(value, name)
			}
		}
	}
}
