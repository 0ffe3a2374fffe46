package report

import (
	"math/rand/v2"
	"time"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/measure"
)

// fixture is a run with one of everything: a scenario that was measured, one
// that was interrupted, one that is invalid, one that failed, one that was
// not reached, with hostile text where text can be.
func fixture() *File {
	rng := rand.New(rand.NewPCG(1, 2))
	here := machine.Machine{OS: "linux", Arch: "amd64", Kernel: "6.1", CPU: "Test CPU @ 3 GHz", Cores: 2, GOMAXPROCS: 2, GOGC: "100", Go: "go1.25.0"}
	outcome := func(name string, rounds int, factors map[string]float64) measure.Outcome {
		o := measure.Outcome{
			Name: name, Title: "frames <b>from</b> memory", Op: "frame", Metric: lab.NsPerOp, Baseline: "peek",
			State: measure.Done, Ops: 241000, Rounds: rounds, Seconds: 1.5,
		}
		for _, variant := range []string{"naive", "peek", "next"} {
			v := measure.Variant{Name: variant, About: "what people </script> write", Calls: []measure.Call{}}
			for range rounds {
				ns := 80 * factors[variant] * (1 + 0.02*rng.Float64())
				v.Calls = append(v.Calls, measure.Call{Bytes: 154240000, Check: 1<<63 + 12345, Figures: map[string]float64{
					lab.NsPerOp: ns, lab.CPUPerOp: ns * 1.01, lab.AllocsPerOp: 0, lab.BytesPerOp: 0.2, lab.GCRuns: 0,
					measure.MBPerS: 640 / ns * 1000, "syscalls/op": 0.0625,
				}})
			}
			o.Variants = append(o.Variants, v)
		}
		o.Targets = []lab.Target{
			{Variant: "next", Against: "peek", AtMost: 0.85},
			{Variant: "next", Against: "naive", AtMost: 0.05},
			{Variant: "next", Metric: lab.AllocsPerOp, AtMost: 0},
			{Variant: "next", Metric: "pinned", AtMost: 2},
		}
		return o
	}
	good := outcome("framing/good", 15, map[string]float64{"naive": 8, "peek": 1, "next": 0.8})
	good.Variants = append(good.Variants, measure.Variant{Name: "splice", About: "by the kernel", Skipped: "not on this system", Calls: []measure.Call{}})
	partial := outcome("framing/worst", 3, map[string]float64{"naive": 2.5, "peek": 1, "next": 1})
	partial.State, partial.Reason = measure.Partial, "interrupted"
	empty := func(name string, state measure.State, reason string) measure.Outcome {
		o := outcome(name, 0, nil)
		o.State, o.Reason = state, reason
		return o
	}
	return &File{
		Origin: machine.Origin{
			Kind: KindBench, Schema: Schema, Version: "devel", Command: []string{"lab", "bench", "--full", "<x>"},
			Started: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), Interrupted: true, Machine: here,
		},
		Mode: "full", Seed: 1<<63 + 7, Seconds: 83,
		Scenarios: []measure.Outcome{
			good, partial,
			empty("tcp/128", measure.Invalid, "not the same work in 241000 operations: next consumed 10 bytes with sum 0x1, peek 20 bytes with sum 0x2"),
			empty("tcp/1K", measure.Failed, "next: the wire broke"),
			empty("idle", measure.Skipped, "not reached"),
		},
	}
}
