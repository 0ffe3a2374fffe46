package scenarios

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sluice-go/sluice/internal/flvclip"
	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/echobench"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/relay"
)

// relayWork is what is published and who looks at it.
type relayWork struct {
	form         string
	streams      int // of small frames; 0: one stream of the clip
	viewers      int
	joins        int           // viewers that come in the window
	atOnce       bool          // at its beginning, all of them
	warm, window time.Duration // 0: as usual
	tls          bool
	oneByOne     bool // viewers join
	hop          bool // every other viewer is one hop further away
	unviewed     bool // what the server needs without viewers is measured, and taken off
	edges        int  // each stream has so many viewers, one at each of them; a power of two
}

// pace has a window of one group of pictures: many short rounds say more than
// few long ones.
func (w relayWork) pace(env lab.Env) relayWork {
	if env.Quick {
		w.streams, w.viewers, w.joins = w.streams/20, min((w.viewers+3)/4, 100), w.joins/20
		w.warm, w.window = 100*time.Millisecond, 600*time.Millisecond
	}
	switch {
	case w.edges > 0:
		w.streams |= 1
		w.viewers = w.streams * w.edges
	case w.streams > 0:
		w.viewers = min(w.viewers, w.streams)
	}
	w.warm, w.window = cmp.Or(w.warm, 300*time.Millisecond), cmp.Or(w.window, 2*time.Second)
	return w
}

func (w relayWork) variant(name, about string, s relayServer) lab.Variant {
	return lab.Variant{Name: name, About: about, Open: func(env lab.Env) (lab.Runner, error) { return w.open(env, s) }}
}

// relayClip is the clip, made once.
var relayClip = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "sluice-clip-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	file, err := relay.MakeClip(ctx, dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return flvclip.File, nil // as the title says
	}
	return file, err
})

// file is what is published.
func (w relayWork) file() ([]byte, error) {
	if w.streams > 0 {
		return relay.SmallFrames(1000, 30), nil // 240 kbit/s
	}
	return relayClip()
}

// processors are that of the server and that of the load, as this process had them before a
// thread of it was bound to one.
func processors() (server, load int, err error) {
	p, err := bothProcessors()
	return p[0], p[1], err
}

var bothProcessors = sync.OnceValues(func() (p [2]int, err error) {
	p[0], p[1], err = echobench.Processors()
	return p, err
})

// open makes sure that the server is here. Each round starts it anew: a server that
// waited with all viewers connected while other variants ran would have dropped
// some of them.
func (w relayWork) open(env lab.Env, s relayServer) (lab.Runner, error) {
	r := &relayRunner{env: env, work: w.pace(env), server: s, clip: filepath.Join(env.Dir, "clip.flv")}
	var err error
	if r.serverCPU, r.loadCPU, err = processors(); err != nil {
		return nil, err
	}
	file, err := w.file()
	if err != nil {
		return nil, err
	}
	clip, err := relay.ParseClip(file)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(r.clip, file, 0o600); err != nil {
		return nil, err
	}
	started, err := r.start()
	if err != nil {
		return nil, err
	}
	started.Stop()
	return runner{run: func(ops int) (lab.Sample, error) {
		sample := lab.Sample{Check: clip.Check}
		for range ops { // the figures are those of the last
			if sample.Figures, err = r.round(); err != nil {
				return lab.Sample{}, err
			}
		}
		return sample, nil
	}}, nil
}

type relayRunner struct {
	env                lab.Env
	work               relayWork
	server             relayServer
	serverCPU, loadCPU int
	clip               string
}

// start starts the server on its processor.
func (r *relayRunner) start() (s relayStarted, err error) {
	err = echobench.OnProcessor(r.serverCPU, func() (err error) {
		s, err = r.server(r.env, r.work.form)
		return err
	})
	if err == nil {
		if err = s.listening(&s); err != nil {
			s.Stop()
		}
	}
	return s, err
}

func (r *relayRunner) round() (map[string]float64, error) {
	server, err := r.start()
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	var load *child.Process
	err = echobench.OnProcessor(r.loadCPU, func() (err error) {
		load, err = startChild(r.env.Self, "relay-load")
		return err
	})
	if err != nil {
		return nil, err
	}
	defer load.Stop()
	w := r.work
	work, err := json.Marshal(relay.Work{
		Publish: server.publish, View: server.view, Form: server.form, App: "live", Stream: "bench", Streams: w.streams,
		Viewers: w.viewers, Joins: w.joins, AtOnce: w.atOnce, TLS: w.tls, Waits: server.waits, OneByOne: w.oneByOne, Hop: w.hop, Unviewed: w.unviewed, Warm: w.warm, Window: w.window, Clip: r.clip, Server: server.PID(),
	})
	if err != nil {
		return nil, err
	}
	var result relay.Result
	said, err := ask(load, string(work))
	if err == nil && said != "ready" {
		err = fmt.Errorf("scenarios: the load said %.60q", said)
	}
	if err == nil {
		result, err = askFor[relay.Result](load, "go")
	}
	if err != nil {
		return nil, fmt.Errorf("%w; the server: %s", err, server.Said())
	}
	if result.Odd > 0 && !server.lax {
		return nil, fmt.Errorf("scenarios: %d frames are not as they were published: %s", result.Odd, result.Oddity)
	}
	return w.figures(result), nil
}

// mostBusy is up to which part of the window the viewers may work, who share a
// processor, for the figures to be the server's.
const mostBusy = 0.9

// figures leaves out what was measured of this process, which only waits.
func (w relayWork) figures(result relay.Result) map[string]float64 {
	f := map[string]float64{framesLost: float64(result.Lost), loadBusy: result.Busy}
	for _, own := range []string{lab.NsPerOp, lab.CPUPerOp, lab.AllocsPerOp, lab.BytesPerOp, lab.GCRuns, measure.MBPerS} {
		f[own] = math.NaN()
	}
	// Where the viewers are the limit, no figure is better than theirs.
	limited := result.Busy > mostBusy
	if result.Served > 0 {
		f[toKeyP50], f[toKeyP99] = float64(result.KeyP50.Nanoseconds()), float64(result.KeyP99.Nanoseconds())
	}
	if w.unviewed && !limited {
		f[cpuPerSend] = float64(result.PerDelivery().Nanoseconds())
	}
	if w.streams > 0 {
		f[growthPerShow] = float64(result.Grown) / float64(w.streams)
		if !limited {
			f[cpuPerFrame] = float64(result.CPU.Nanoseconds()) / float64(result.Published)
		}
		return f
	}
	f[viewersClosed], f[residentAll] = float64(result.Closed), float64(result.Resident)
	f[sentLate] = float64(result.Late.Nanoseconds())
	if !limited {
		f[perGB] = result.PerGB()
		f[p50], f[p99] = float64(result.LagP50.Nanoseconds()), float64(result.LagP99.Nanoseconds())
		if w.hop {
			f[hopP50], f[hopP99] = float64(result.HopP50.Nanoseconds()), float64(result.HopP99.Nanoseconds())
		}
	}
	if w.joins > 0 {
		f[joinsServed] = float64(result.Served) / float64(w.joins)
	}
	return f
}

// relay-load is the child that publishes and has the viewers.
var _ = registerChild("relay-load", "", func([]string) error { return relay.RunLoad(os.Stdin, os.Stdout) })
