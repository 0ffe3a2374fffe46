package scenarios

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/lab/internal/echobench"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/relay"
)

var _ = register(223, func() []lab.Scenario {
	return []lab.Scenario{
		relayJoins("relay/joins-500", "500 viewers that join within a second, until they have a key frame",
			relayWork{viewers: 1, joins: 500, window: time.Second}, lab.Target{Variant: "rtmp", AtMost: 3e6}),
		relayJoins("relay/joins-4000", "4,000 viewers that join at once, until they have a key frame",
			relayWork{viewers: 1, joins: 4000, atOnce: true, window: 10 * time.Second}, lab.Target{Variant: "rtmp", Metric: joinsServed, AtLeast: 1}),
		relayTLS(),
		relayCascade(),
	}
})

func relayJoins(name, title string, w relayWork, target lab.Target) lab.Scenario {
	byFLV := w
	w.form, byFLV.form = relay.RTMP, relay.FLV
	return lab.Scenario{
		Name: name, Title: "live relay, " + relayClipName() + ", " + title,
		Op: "window", Metric: toKeyP99, Baseline: "flv", Ops: 1, Fixed: true, Named: true,
		Variants: []lab.Variant{
			w.variant("rtmp", "sluice serve as it comes, by RTMP", adaptingServer()),
			byFLV.variant("flv", "sluice serve as it comes, by HTTP-FLV", adaptingServer()),
			w.variant("nginx", "nginx with its RTMP module; who joins waits for the next key frame", nginxServer(relay.Nginx{})),
		},
		Targets: []lab.Target{target},
	}
}

// relayTLS asks what encryption costs.
func relayTLS() lab.Scenario {
	w := relayWork{form: relay.RTMP, viewers: 200}
	secure := w
	secure.tls = true
	return lab.Scenario{
		Name: "relay/tls-200", Title: "live relay, " + relayClipName() + " to 200 viewers by RTMP, merged for 95 ms, the server's processor time",
		Op: "window", Metric: perGB, Baseline: "plain", Ops: 1, Fixed: true, Named: true,
		Variants: []lab.Variant{
			w.variant("plain", "sluice serve --merge-adapt=false", sluiceServer(relayMerge)),
			secure.variant("tls", "the same, viewers by RTMPS", tlsServer()),
		},
		Targets: []lab.Target{{Variant: "tls", Against: "plain", AtMost: 1.3}},
	}
}

// tlsServer is sluice serve whose viewers come by RTMPS.
func tlsServer() relayServer {
	return func(env lab.Env, form string) (relayStarted, error) {
		cert, key, err := echobench.CertificateFiles(env.Dir)
		if err != nil {
			return relayStarted{}, err
		}
		s, err := startSluice(env, form, "--merge-adapt=false", "--rtmps", "127.0.0.1:0", "--cert", cert, "--key", key)
		s.secure = true
		return s, err
	}
}

// relayCascade asks how far behind live the viewers of the last of three servers are.
func relayCascade() lab.Scenario {
	w := relayWork{form: relay.RTMP, viewers: 50}
	merged := "--merge-adapt=false"
	return lab.Scenario{
		Name: "relay/cascade-3", Title: "live relay, " + relayClipName() + " to 50 viewers by RTMP of the last of three servers on one processor, each pulling from the one before",
		Op: "window", Metric: p99, Baseline: "alone", Ops: 1, Fixed: true, Named: true,
		Variants: []lab.Variant{
			w.variant("alone", "one server, merged for 95 ms", sluiceServer(relayMerge)),
			w.variant("cascade", "three, the last one merges for 95 ms", cascadeServer(3, merged)),
			w.variant("adapt", "three as they come", cascadeServer(3)),
		},
		Targets: []lab.Target{
			{Variant: "cascade", Metric: p50, AtMost: 60e6}, {Variant: "cascade", AtMost: 110e6}, {Variant: "cascade", Metric: framesLost, AtMost: 0},
		},
	}
}

// cascadeServer is n servers, published to at the first and watched at the last.
func cascadeServer(n int, flags ...string) relayServer {
	return func(env lab.Env, form string) (last relayStarted, err error) {
		first := ""
		for i := range n {
			more := flags
			if i > 0 {
				more = append([]string{"--origin", "rtmp://" + last.publish}, flags...)
			}
			s, err := startSluice(env, form, more...)
			if err != nil {
				if i > 0 {
					last.Stop()
				}
				return s, err
			}
			if i > 0 {
				s.before = append(last.before, last.Process)
			}
			if err := s.listening(&s); err != nil {
				s.Stop()
				return s, fmt.Errorf("scenarios: server %d of a cascade: %w", i+1, err)
			}
			if i == 0 {
				first = s.publish
			}
			last = s
		}
		last.publish = first
		last.listening = func(*relayStarted) error { return nil }
		return last, nil
	}
}
