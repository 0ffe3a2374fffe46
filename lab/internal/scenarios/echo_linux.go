package scenarios

import (
	"errors"
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/machine"
)

var many = echoWork{size: 128, conns: 1000}

// What the README promises of echo is run early.
var _ = register(13, func() []lab.Scenario {
	return []lab.Scenario{
		echoScenario("1000x128B", "echo of 128 B on 1,000 connections, one message under way on each, the server's processor time",
			"request", lab.CPUPerOp, "netpoll", 15_000, many.open, []string{"aio", "aio-conns", "std-4K", "std-pooled", "netpoll", "floor"},
			lab.Target{Variant: "aio", Against: "floor", AtMost: 1.10},
			lab.Target{Variant: "aio-conns", Against: "floor", AtMost: 1.10},
			lab.Target{Variant: "aio", Against: "netpoll", AtMost: 0.75},
			lab.Target{Variant: "aio", Against: "std-pooled", AtMost: 0.65},
			lab.Target{Variant: "aio", Metric: perSecond, Against: "netpoll", AtLeast: 1.2},
			lab.Target{Variant: "aio", Metric: perSecond, Against: "std-pooled", AtLeast: 1.3},
			lab.Target{Variant: "aio", Metric: lab.AllocsPerOp, AtMost: 0}),
	}
})

var _ = register(210, echoGroup)

func echoGroup() []lab.Scenario {
	paced := many
	paced.rate = 20_000
	return []lab.Scenario{
		echoScenario("ping-pong-1p", "echo of 128 B on one connection, GOMAXPROCS 1 on one processor, the server's processor time",
			"request", lab.CPUPerOp, "std-4K", 3_000, echoWork{size: 128, conns: 1}.open, []string{"aio", "aio-conns", "std-4K", "std-pooled", "netpoll", "floor"},
			lab.Target{Variant: "aio", Against: "std-4K", AtMost: 0.90},
			lab.Target{Variant: "aio", Metric: perSecond, Against: "std-4K", AtLeast: 1}),
		echoScenario("1x64KiB", "echo of 64 KiB on one connection, the server's processor time",
			"request", lab.CPUPerOp, "std-64K", 1_500, echoWork{size: 64 << 10, conns: 1}.open, []string{"aio", "std-64K", "netpoll", "floor"},
			lab.Target{Variant: "aio", Against: "floor", AtMost: 1.08},
			lab.Target{Variant: "aio", Against: "std-64K", AtMost: 0.88},
			lab.Target{Variant: "aio", Against: "netpoll", AtMost: 0.80},
			lab.Target{Variant: "aio", Metric: perSecond, Against: "std-64K", AtLeast: 1},
			lab.Target{Variant: "aio", Metric: perSecond, Against: "netpoll", AtLeast: 1}),
		// What a connection costs to accept is part of it.
		echoScenario("8192x1KiB", "8,192 connections (1,024 unless --full, 512 with --quick): connect and echo 1 KiB, then ten more on each, all of it counted",
			"wave", perRequest, "std-pooled", 1, func(env lab.Env, server string) (lab.Runner, error) {
				return newEchoWave(env, server, scaled(env, 8192, 1024, 512))
			}, []string{"aio", "aio-conns", "std-pooled", "netpoll", "floor"},
			lab.Target{Variant: "aio", Against: "std-pooled", AtMost: 0.65},
			lab.Target{Variant: "aio-conns", Against: "std-pooled", AtMost: 0.65},
			lab.Target{Variant: "aio", Metric: perSecond, Against: "std-pooled", AtLeast: 1.1}),
		echoScenario("idle", "resident bytes of a server for each of 8,000 connections (2,000 unless --full, 500 with --quick) that have echoed 128 B and wait",
			"count", residentBy, "std-pooled", 1, func(env lab.Env, server string) (lab.Runner, error) {
				return newIdle(env, server, idleWork{"rss", residentBy, 128, scaled(env, 8000, 2000, 500), 512})
			}, []string{"aio-nil", "aio-conns", "std-pooled", "netpoll"},
			lab.Target{Variant: "aio-nil", Metric: residentBy, AtMost: 700},
			lab.Target{Variant: "aio-conns", Metric: residentBy, AtMost: 450}),
		echoToMany(),
		// The client encrypts too, on a processor of its own, and may be the limit.
		echoScenario("tls-1000x128B", "echo of 128 B over TLS 1.3 on 1,000 connections, one message under way on each, the server's processor time",
			"request", lab.CPUPerOp, "std-tls", 10_000, many.open, []string{"aio-tls", "std-tls"},
			lab.Target{Variant: "aio-tls", Against: "std-tls", AtMost: 0.85}),
		echoScenario("tls-idle", "resident bytes of a server for each of 2,000 TLS connections (1,000 unless --full, 200 with --quick) that have echoed 128 B and wait",
			"count", residentBy, "std-tls", 1, func(env lab.Env, server string) (lab.Runner, error) {
				return newIdle(env, server, idleWork{"rss", residentBy, 128, scaled(env, 2000, 1000, 200), 512})
			}, []string{"aio-tls", "std-tls"},
			lab.Target{Variant: "aio-tls", Metric: residentBy, Against: "std-tls", AtMost: 0.70}),
		echoScenario("open-20k", "20,000 messages a second of 128 B over 1,000 connections, whether answered or not: the server's processor time, and from when one was due",
			"message", lab.CPUPerOp, "floor", 5_000, paced.open, []string{"aio", "aio-conns", "std-pooled", "netpoll", "floor"},
			lab.Target{Variant: "aio", Against: "floor", AtMost: 1.25},
			lab.Target{Variant: "aio-conns", Against: "floor", AtMost: 1.25},
			lab.Target{Variant: "aio", Metric: p50, Against: "std-pooled", AtMost: 1.10}),
		// The work of gaio's own benchmark. gaio itself is not on the module proxy, so it is no
		// variant: aio is used in its way, beside the least that can be done.
		echoScenario("gaio-shape", "echo of 128 B on 128 connections as gaio's benchmark does it, one message under way on each; "+
			"for aio a completed read, then a write, then the next read: from send to answer, and the server's processor time",
			"request", lab.CPUPerOp, "std-4K", 15_000, echoWork{size: 128, conns: 128, latency: true}.open, []string{"aio", "std-4K", "floor"},
			lab.Target{Variant: "aio", Against: "floor", AtMost: 1.10},
			lab.Target{Variant: "aio", Metric: p50, Against: "std-4K", AtMost: 1.0},
			lab.Target{Variant: "aio", Metric: p99, Against: "std-4K", AtMost: 1.0}),
	}
}

var _ = register(12, idleGroup)

// idleGroup counts the memory of connections that have had one message and
// wait for the next.
func idleGroup() []lab.Scenario {
	sc := echoScenario("", "heap and stack of a server's connections that have each echoed one message of 16 KiB and wait",
		"count", perConn, "std-pooled", 1, func(env lab.Env, server string) (lab.Runner, error) {
			w := idleWork{"live", perConn, 16 << 10, scaled(env, 4000, 500, 500), 1}
			if limit := machine.This().OpenFiles; limit < uint64(w.conns)+50 {
				return nil, fmt.Errorf("scenarios: only %d files may be open: %w", limit, errors.ErrUnsupported)
			}
			bare, err := newIdle(env, "std-pooled", w)
			if err != nil {
				return nil, err
			}
			first, err := bare.Run(1)
			if err != nil {
				return nil, err
			}
			r, err := newIdle(env, server, w)
			return runner{run: func(ops int) (lab.Sample, error) {
				out, err := r.Run(ops)
				if err == nil {
					out.Figures[aboveBare] = out.Figures[perConn] - first.Figures[perConn]
				}
				return out, err
			}}, err
		}, []string{"std-pooled", "bufio-4K", "next"},
		lab.Target{Variant: "next", Metric: aboveBare, AtMost: 360})
	sc.Name = "idle"
	return []lab.Scenario{sc}
}
