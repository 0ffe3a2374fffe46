package scenarios

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/sluice-go/sluice/lab/internal/echobench"
	"github.com/sluice-go/sluice/lab/internal/lab"
)

// The figures of the echo scenarios, besides those that all have. Times of the
// processor, allocations and collections are the server's there.
const (
	perSecond  = "req/s"          // messages that came back whole, by the client's clock
	perRequest = "cpu-ns/request" // where an operation is many requests
	senderTime = "sender-ns/op"   // the client's time when it did not wait: near all of it, the client was the limit
	p50        = "p50-ns"         // from when a message was due to when its echo was complete
	p99        = "p99-ns"
	sentLate   = "sent-late-ns" // how much after it was due one message in a hundred was sent, or more
	residentBy = "rss-B/conn"
)

var _ = register(210, echoGroup)

// echoGroup has servers echo what a client on another processor sends.
func echoGroup() []lab.Scenario {
	return []lab.Scenario{
		echoMany(),
		echoPingPong(1, 0.90, 1.0),
		echoPingPong(2, 0.90, 0.9),
		echoLong(),
		echoWave(),
		echoIdle(),
		echoToMany(),
		echoTLS(),
		echoIdleTLS(),
		echoPaced(),
		echoCurve(),
	}
}

// echoVariants makes a variant of each named server.
func echoVariants(open func(env lab.Env, server string) (lab.Runner, error), servers ...string) []lab.Variant {
	var list []lab.Variant
	for _, name := range servers {
		s, err := echobench.Lookup(name)
		if err != nil {
			panic("scenarios: " + err.Error())
		}
		list = append(list, lab.Variant{Name: s.Name, About: s.About, Open: func(env lab.Env) (lab.Runner, error) {
			return open(env, s.Name)
		}})
	}
	return list
}

func echoMany() lab.Scenario {
	w := echoWork{size: 128, conns: 1000, procs: 1}
	return lab.Scenario{
		Name:     "echo/1000x128B",
		Title:    "echo of 128 B on 1,000 connections, one message under way on each, the server's processor time",
		Op:       "request",
		Metric:   lab.CPUPerOp,
		Baseline: "netpoll",
		Ops:      15_000,
		Fixed:    true,
		Variants: echoVariants(w.open, "aio", "aio-nil", "aio-quiet", "aio-conns", "std-4K", "std-pooled", "netpoll", "floor"),
		Targets: []lab.Target{
			{Variant: "aio", Against: "floor", AtMost: 1.10},
			{Variant: "aio-quiet", Against: "floor", AtMost: 1.10},
			{Variant: "aio-conns", Against: "floor", AtMost: 1.10},
			{Variant: "aio", Against: "netpoll", AtMost: 0.75},
			{Variant: "aio", Against: "std-pooled", AtMost: 0.65},
			{Variant: "aio", Metric: perSecond, Against: "netpoll", AtLeast: 1.2},
			{Variant: "aio", Metric: perSecond, Against: "std-pooled", AtLeast: 1.3},
			{Variant: "aio", Metric: lab.AllocsPerOp, AtMost: 0},
			{Variant: "aio-nil", Metric: lab.AllocsPerOp, AtMost: 0},
		},
	}
}

func echoPingPong(procs int, cpu, rate float64) lab.Scenario {
	w := echoWork{size: 128, conns: 1, procs: procs}
	return lab.Scenario{
		Name:     fmt.Sprintf("echo/ping-pong-%dp", procs),
		Title:    fmt.Sprintf("echo of 128 B on one connection, GOMAXPROCS %d on one processor, the server's processor time", procs),
		Op:       "request",
		Metric:   lab.CPUPerOp,
		Baseline: "std-4K",
		Ops:      3_000,
		Fixed:    true,
		Variants: echoVariants(w.open, "aio", "aio-quiet", "aio-conns", "std-4K", "std-pooled", "netpoll", "floor"),
		Targets: []lab.Target{
			{Variant: "aio", Against: "std-4K", AtMost: cpu},
			{Variant: "aio", Metric: perSecond, Against: "std-4K", AtLeast: rate},
		},
	}
}

func echoLong() lab.Scenario {
	w := echoWork{size: 64 << 10, conns: 1, procs: 1}
	return lab.Scenario{
		Name:     "echo/1x64KiB",
		Title:    "echo of 64 KiB on one connection, the server's processor time",
		Op:       "request",
		Metric:   lab.CPUPerOp,
		Baseline: "std-64K",
		Ops:      1_500,
		Fixed:    true,
		Variants: echoVariants(w.open, "aio", "std-64K", "netpoll", "floor"),
		Targets: []lab.Target{
			{Variant: "aio", Against: "floor", AtMost: 1.08},
			{Variant: "aio", Against: "std-64K", AtMost: 0.88},
			{Variant: "aio", Against: "netpoll", AtMost: 0.80},
			{Variant: "aio", Metric: perSecond, Against: "std-64K", AtLeast: 1},
			{Variant: "aio", Metric: perSecond, Against: "netpoll", AtLeast: 1},
		},
	}
}

// echoWave includes what a connection costs to accept.
func echoWave() lab.Scenario {
	return lab.Scenario{
		Name:     "echo/8192x1KiB",
		Title:    "8,192 connections (1,024 unless --full): connect and echo 1 KiB, then ten more on each, all of it counted",
		Op:       "wave",
		Metric:   perRequest,
		Baseline: "std-pooled",
		Ops:      1,
		Fixed:    true,
		Variants: echoVariants(func(env lab.Env, server string) (lab.Runner, error) {
			return newEchoWave(env, server, scaled(env, 8192, 1024, 512))
		}, "aio", "aio-nil", "aio-conns", "std-pooled", "netpoll", "floor"),
		Targets: []lab.Target{
			{Variant: "aio", Against: "std-pooled", AtMost: 0.65},
			{Variant: "aio-conns", Against: "std-pooled", AtMost: 0.65},
			{Variant: "aio", Metric: perSecond, Against: "std-pooled", AtLeast: 1.1},
			{Variant: "aio-nil", Against: "aio", AtMost: 1.05},
			{Variant: "aio-nil", Metric: perSecond, Against: "aio", AtLeast: 0.95},
		},
	}
}

// scaled is how many connections env is for.
func scaled(env lab.Env, full, normal, quick int) int {
	switch {
	case env.Full:
		return full
	case env.Quick:
		return quick
	}
	return normal
}

func echoIdle() lab.Scenario {
	return lab.Scenario{
		Name:     "echo/idle",
		Title:    "resident bytes of a server for each of 8,000 connections (2,000 unless --full) that have echoed 128 B and wait",
		Op:       "count",
		Metric:   residentBy,
		Baseline: "std-pooled",
		Ops:      1,
		Fixed:    true,
		Variants: echoVariants(func(env lab.Env, server string) (lab.Runner, error) {
			return newEchoIdle(env, server, scaled(env, 8000, 2000, 500))
		}, "aio-nil", "aio-conns", "std-pooled", "netpoll"),
		Targets: []lab.Target{
			{Variant: "aio-nil", Metric: residentBy, AtMost: 700},
			{Variant: "aio-conns", Metric: residentBy, AtMost: 450},
		},
	}
}

// echoTLS has a client that encrypts too, on a processor of its own, and may be the limit.
func echoTLS() lab.Scenario {
	w := echoWork{size: 128, conns: 1000, procs: 1}
	return lab.Scenario{
		Name:     "echo/tls-1000x128B",
		Title:    "echo of 128 B over TLS 1.3 on 1,000 connections, one message under way on each, the server's processor time",
		Op:       "request",
		Metric:   lab.CPUPerOp,
		Baseline: "std-tls",
		Ops:      10_000,
		Fixed:    true,
		Variants: echoVariants(w.open, "aio-tls", "std-tls"),
		Targets:  []lab.Target{{Variant: "aio-tls", Against: "std-tls", AtMost: 0.85}},
	}
}

func echoIdleTLS() lab.Scenario {
	return lab.Scenario{
		Name:     "echo/tls-idle",
		Title:    "resident bytes of a server for each of 2,000 TLS connections (1,000 unless --full) that have echoed 128 B and wait",
		Op:       "count",
		Metric:   residentBy,
		Baseline: "std-tls",
		Ops:      1,
		Fixed:    true,
		Variants: echoVariants(func(env lab.Env, server string) (lab.Runner, error) {
			return newEchoIdle(env, server, scaled(env, 2000, 1000, 200))
		}, "aio-tls", "std-tls"),
		Targets: []lab.Target{{Variant: "aio-tls", Metric: residentBy, Against: "std-tls", AtMost: 0.70}},
	}
}

func echoPaced() lab.Scenario {
	w := echoWork{size: 128, conns: 1000, procs: 1, rate: 20_000}
	return lab.Scenario{
		Name:     "echo/open-20k",
		Title:    "20,000 messages a second of 128 B over 1,000 connections, whether answered or not: the server's processor time, and from when one was due",
		Op:       "message",
		Metric:   lab.CPUPerOp,
		Baseline: "floor",
		Ops:      5_000,
		Fixed:    true,
		Variants: echoVariants(w.open, "aio", "aio-quiet", "aio-conns", "std-pooled", "netpoll", "floor"),
		Targets: []lab.Target{
			{Variant: "aio", Against: "floor", AtMost: 1.25},
			{Variant: "aio-quiet", Against: "floor", AtMost: 1.25},
			{Variant: "aio-conns", Against: "floor", AtMost: 1.25},
			{Variant: "aio", Metric: p50, Against: "std-pooled", AtMost: 1.10},
		},
	}
}

// echoCurve has as variants one server with ever more connections.
func echoCurve() lab.Scenario {
	sc := lab.Scenario{
		Name:     "echo/connections",
		Title:    "aio: echo of 128 B, one message on each of ever more connections",
		Op:       "message on each",
		Metric:   perRequest,
		Baseline: "c1k",
		Ops:      4,
		Fixed:    true,
		Targets:  []lab.Target{{Variant: "c12k", Against: "c1k", AtMost: 1.3}},
		Curve:    &lab.Curve{X: "connections", Metric: lab.NsPerOp},
	}
	for _, thousands := range []int{1, 2, 4, 8, 10, 12} {
		count := thousands * 1000
		sc.Variants = append(sc.Variants, lab.Variant{
			Name:  "c" + strconv.Itoa(thousands) + "k",
			About: fmt.Sprintf("aio with %d,000 connections", thousands),
			X:     float64(count),
			Open: func(env lab.Env) (lab.Runner, error) {
				if env.Quick && count > 4000 {
					return nil, fmt.Errorf("scenarios: opening %d connections takes too long for a quick run: %w", count, errors.ErrUnsupported)
				}
				return echoWork{size: 128, conns: count, procs: 1, onEach: true}.open(env, "aio")
			},
		})
	}
	return sc
}
