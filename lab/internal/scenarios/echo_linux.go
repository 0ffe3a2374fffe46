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
		echoScenario("echo/1000x128B", many.open, "aio", "aio-conns", "std-4K", "std-pooled", "netpoll", "floor"),
	}
})

var _ = register(210, echoGroup)

func echoGroup() []lab.Scenario {
	paced := many
	paced.rate = 20_000
	return []lab.Scenario{
		echoScenario("echo/ping-pong-1p", echoWork{size: 128, conns: 1}.open, "aio", "aio-conns", "std-4K", "std-pooled", "netpoll", "floor"),
		echoScenario("echo/1x64KiB", echoWork{size: 64 << 10, conns: 1}.open, "aio", "std-64K", "netpoll", "floor"),
		// What a connection costs to accept is part of it.
		echoScenario("echo/8192x1KiB", func(env lab.Env, server string) (lab.Runner, error) {
			return newEchoWave(env, server, scaled(env, 8192, 1024, 512))
		}, "aio", "aio-conns", "std-pooled", "netpoll", "floor"),
		echoScenario("echo/idle", func(env lab.Env, server string) (lab.Runner, error) {
			return newIdle(env, server, idleWork{"rss", residentBy, 128, scaled(env, 8000, 2000, 500), 512})
		}, "aio-nil", "aio-conns", "std-pooled", "netpoll"),
		echoToMany(),
		// The client encrypts too, on a processor of its own, and may be the limit.
		echoScenario("echo/tls-1000x128B", many.open, "aio-tls", "std-tls"),
		echoScenario("echo/tls-idle", func(env lab.Env, server string) (lab.Runner, error) {
			return newIdle(env, server, idleWork{"rss", residentBy, 128, scaled(env, 2000, 1000, 200), 512})
		}, "aio-tls", "std-tls"),
		echoScenario("echo/open-20k", paced.open, "aio", "aio-conns", "std-pooled", "netpoll", "floor"),
		// The work of gaio's own benchmark. gaio itself is not on the module proxy, so it is no
		// variant: aio is used in its way, beside the least that can be done.
		echoScenario("echo/gaio-shape", echoWork{size: 128, conns: 128, latency: true}.open, "aio", "std-4K", "floor"),
	}
}

var _ = register(12, idleGroup)

// idleGroup counts the memory of connections that have had one message and
// wait for the next.
func idleGroup() []lab.Scenario {
	return []lab.Scenario{
		echoScenario("idle", func(env lab.Env, server string) (lab.Runner, error) {
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
		}, "std-pooled", "bufio-4K", "next"),
	}
}
