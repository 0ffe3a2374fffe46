package scenarios

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/echobench"
	"github.com/sluice-go/sluice/lab/internal/lab"
)

var _ = register(211, func() []lab.Scenario { return []lab.Scenario{echoGaioShape()} })

// echoGaioShape is the work of gaio's own benchmark. gaio itself is not on the module
// proxy, so it is no variant: aio is used in its way, beside the least that can be done.
func echoGaioShape() lab.Scenario {
	return lab.Scenario{
		Name: "echo/gaio-shape",
		Title: "echo of 128 B on 128 connections as gaio's benchmark does it, one message under way on each; " +
			"for aio a completed read, then a write, then the next read: from send to answer, and the server's processor time",
		Op:       "request",
		Metric:   lab.CPUPerOp,
		Baseline: "std-4K",
		Ops:      15_000,
		Fixed:    true,
		Variants: echoVariants(func(env lab.Env, server string) (lab.Runner, error) {
			w := echoWork{size: 128, conns: 128, procs: 1}
			r, err := w.open(env, server)
			if err != nil {
				return nil, err
			}
			return &latencyRunner{r.(*echoRunner).pair}, nil
		}, "aio", "std-4K", "floor"),
		Targets: []lab.Target{
			{Variant: "aio", Against: "floor", AtMost: 1.10},
			{Variant: "aio", Metric: p50, Against: "std-4K", AtMost: 1.0},
			{Variant: "aio", Metric: p99, Against: "std-4K", AtMost: 1.0},
		},
	}
}

// latencyRunner has the latencies of a closed loop as figures.
type latencyRunner struct{ pair *echoPair }

func (r *latencyRunner) Run(ops int) (lab.Sample, error) {
	if _, err := r.pair.do("closed", ops/8+1); err != nil {
		return lab.Sample{}, err
	}
	result, spent, err := r.pair.during(func() (echobench.Result, error) { return r.pair.do("closed", ops) })
	if err != nil {
		return lab.Sample{}, err
	}
	if result.Check != echobench.Sum(ops) {
		return lab.Sample{}, fmt.Errorf("scenarios: the client checked other messages than the %d that it was to send", ops)
	}
	figures := echoFigures(result, spent, ops)
	figures[p50] = float64(result.P50.Nanoseconds())
	figures[p99] = float64(result.P99.Nanoseconds())
	return lab.Sample{Bytes: result.Bytes, Check: result.Check, Figures: figures}, nil
}

func (r *latencyRunner) Close() error {
	r.pair.close()
	return nil
}
