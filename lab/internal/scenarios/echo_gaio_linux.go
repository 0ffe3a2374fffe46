package scenarios

import "github.com/sluice-go/sluice/lab/internal/lab"

// This is the work of gaio's own benchmark. gaio itself is not on the module proxy, so
// it is no variant: aio is used in its way, beside the least that can be done.
var _ = register(211, func() []lab.Scenario {
	w := echoWork{size: 128, conns: 128, latency: true}
	return []lab.Scenario{
		echoScenario("gaio-shape", "echo of 128 B on 128 connections as gaio's benchmark does it, one message under way on each; "+
			"for aio a completed read, then a write, then the next read: from send to answer, and the server's processor time",
			"request", lab.CPUPerOp, "std-4K", 15_000, w.open, []string{"aio", "std-4K", "floor"},
			lab.Target{Variant: "aio", Against: "floor", AtMost: 1.10},
			lab.Target{Variant: "aio", Metric: p50, Against: "std-4K", AtMost: 1.0},
			lab.Target{Variant: "aio", Metric: p99, Against: "std-4K", AtMost: 1.0}),
	}
})
