package scenarios

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/echobench"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/relay"
)

// The figures of many streams.
const (
	cpuPerFrame    = "cpu-ns/frame" // the server's, for each frame published
	growthPerShow  = "rss-B/stream" // of the server, above what it had before the first stream
	crowdFrame     = 1000           // bytes: 240 kbit/s
	crowdPerSecond = 30
)

var _ = register(222, func() []lab.Scenario {
	return []lab.Scenario{relayCrowd(false), relayCrowd(true)}
})

// relayCrowd asks what a stream costs that hardly a viewer watches.
func relayCrowd(viewed bool) lab.Scenario {
	w := crowdWork{viewed: viewed}
	sc := lab.Scenario{
		Name:     "relay/publishers-1000",
		Title:    "live relay, 1,000 streams of 30 frames of 1,000 bytes a second that nothing watches, the server's processor time",
		Op:       "window",
		Metric:   cpuPerFrame,
		Baseline: "sluice",
		Ops:      1,
		Fixed:    true,
		Named:    true,
		Variants: []lab.Variant{
			w.variant("sluice", "sluice serve as it comes", crowdServer()),
			w.variant("sluice-nogop", "sluice serve --gop=false: no frames for those who join, only those of the last 3 s for those who lag", crowdServer("--gop=false")),
			w.variant("nginx", "nginx with its RTMP module, one worker; it keeps no frames", nginxServer(relay.Nginx{})),
		},
		Targets: []lab.Target{{Variant: "sluice", Metric: growthPerShow, AtMost: 100e3}},
	}
	if viewed {
		sc.Name = "relay/streams-1000"
		sc.Title = "live relay, 1,000 streams of 30 frames of 1,000 bytes a second with one viewer each, by RTMP, the server's processor time"
		sc.Variants[1] = w.variant("sluice-merge0", "sluice serve --merge 0: each frame is sent at once", crowdServer("--merge", "0s"))
		sc.Targets = []lab.Target{{Variant: "sluice", Metric: framesLost, AtMost: 0}}
	}
	if relay.HasNginx() {
		sc.Targets = append(sc.Targets, lab.Target{Variant: "sluice", Against: "nginx", AtMost: 0.95})
	}
	return sc
}

// crowdWork is many streams.
type crowdWork struct{ viewed bool }

func (w crowdWork) variant(name, about string, s relayServer) lab.Variant {
	return lab.Variant{Name: name, About: about, Open: func(env lab.Env) (lab.Runner, error) { return w.open(env, s) }}
}

// crowdServer is sluice serve with these flags and no limits.
func crowdServer(flags ...string) relayServer {
	flags = append([]string{"--max-streams", "0", "--max-streams-per-address", "0"}, flags...)
	return func(env lab.Env, form string) (relayStarted, error) { return startSluice(env, form, flags...) }
}

func (w crowdWork) open(env lab.Env, s relayServer) (lab.Runner, error) {
	r := &relayRunner{env: env, work: relayWork{form: relay.RTMP}, server: s}
	var err error
	if r.serverCPU, r.loadCPU, err = echobench.Processors(); err != nil {
		return nil, err
	}
	started, err := r.start()
	if err != nil {
		return nil, err
	}
	started.Stop()
	return runner{run: func(ops int) (lab.Sample, error) {
		sample := lab.Sample{Check: crowdFrame}
		for range ops { // the figures are those of the last
			if sample.Figures, err = w.round(r); err != nil {
				return lab.Sample{}, err
			}
		}
		return sample, nil
	}}, nil
}

func (w crowdWork) round(r *relayRunner) (map[string]float64, error) {
	server, err := r.start()
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	work := relay.Crowd{
		Publish: server.publish, View: server.view, App: "live", Streams: 1000, Viewed: w.viewed,
		Frame: crowdFrame, Every: time.Second / crowdPerSecond, Warm: 5 * time.Second, Window: 4 * time.Second, Server: server.PID(),
	}
	if r.env.Quick {
		work.Streams, work.Warm, work.Window = 50, 200*time.Millisecond, 600*time.Millisecond
	}
	var result relay.CrowdResult
	if err := r.loaded("relay-crowd", work, &result); err != nil {
		return nil, fmt.Errorf("%w; the server: %s", err, server.Said())
	}
	f := map[string]float64{
		cpuPerFrame:   float64(result.CPU.Nanoseconds()) / float64(result.Published),
		growthPerShow: float64(result.Grown) / float64(work.Streams),
		framesLost:    float64(result.Lost),
		loadBusy:      result.Busy,
	}
	if result.Busy > mostBusy {
		delete(f, cpuPerFrame)
	}
	return withoutOwn(f), nil
}

// loaded runs a child on the load's processor that does one work, and takes its result.
func (r *relayRunner) loaded(name string, work, result any) error {
	var load *child.Process
	err := echobench.OnProcessor(r.loadCPU, func() (err error) {
		load, err = startChild(r.env.Self, name)
		return err
	})
	if err != nil {
		return err
	}
	defer load.Stop()
	question, err := json.Marshal(work)
	if err != nil {
		return err
	}
	line, err := ask(load, string(question))
	if err == nil && line == "ready" {
		line, err = lineOf(load)
	}
	if err == nil {
		err = json.Unmarshal([]byte(line), result)
	}
	return err
}

// withoutOwn leaves out what was measured of this process, which only waits.
func withoutOwn(f map[string]float64) map[string]float64 {
	for _, own := range []string{lab.NsPerOp, lab.CPUPerOp, lab.AllocsPerOp, lab.BytesPerOp, lab.GCRuns, measure.MBPerS} {
		f[own] = math.NaN()
	}
	return f
}

var _ = registerChild("relay-crowd", func(args []string) error {
	if err := childArgs("relay-crowd", args); err != nil {
		return err
	}
	child.Expire(childLife)
	return relay.RunCrowd(os.Stdin, os.Stdout)
})
