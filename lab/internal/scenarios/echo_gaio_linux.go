package scenarios

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/echobench"
	"github.com/sluice-go/sluice/lab/internal/lab"
)

// This is the work of gaio's own benchmark. gaio itself is not on the module proxy, so
// it is no variant: aio is used in its way, beside the least that can be done.
var _ = register(211, func() []lab.Scenario {
	w := echoWork{size: 128, conns: 128, procs: 1}
	return []lab.Scenario{
		echoScenario("gaio-shape", "echo of 128 B on 128 connections as gaio's benchmark does it, one message under way on each; "+
			"for aio a completed read, then a write, then the next read: from send to answer, and the server's processor time",
			"request", lab.CPUPerOp, "std-4K", 15_000, w.openLatency, []string{"aio", "std-4K", "floor"},
			lab.Target{Variant: "aio", Against: "floor", AtMost: 1.10},
			lab.Target{Variant: "aio", Metric: p50, Against: "std-4K", AtMost: 1.0},
			lab.Target{Variant: "aio", Metric: p99, Against: "std-4K", AtMost: 1.0}),
	}
})

// openLatency is open with the latencies of a closed loop among the figures.
func (w echoWork) openLatency(env lab.Env, server string) (lab.Runner, error) {
	p, err := newEchoPair(env, server, w.size, w.procs)
	if err != nil {
		return nil, err
	}
	if _, err := p.do("connect", w.conns); err != nil {
		return nil, p.closed(err)
	}
	return runner{func(ops int) (lab.Sample, error) {
		if _, err := p.do("closed", ops/8+1); err != nil {
			return lab.Sample{}, err
		}
		result, spent, err := p.during(func() (echobench.Result, error) { return p.do("closed", ops) })
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
	}, p.close}, nil
}
