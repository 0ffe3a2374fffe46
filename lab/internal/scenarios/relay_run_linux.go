package scenarios

import (
	"cmp"
	"context"
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

// The figures of the relay scenarios. The server's are of its process alone.
const (
	perGB         = "cpu-s/GB"       // the server's processor time for 1,000,000,000 bytes delivered
	cpuPerFrame   = "cpu-ns/frame"   // the same for each frame published
	cpuPerSend    = "cpu-ns/send"    // the same for each frame delivered, without what it needs with no viewers
	hopP50        = "hop-p50-ns"     // how much later frames come to viewers that are a hop further away
	hopP99        = "hop-p99-ns"     // the same
	framesLost    = "lost"           // that a viewer did not get, of all that were published after its first
	residentAll   = "rss-B"          // of the server at the end of the window
	growthPerShow = "rss-B/stream"   // of that, above what it had before the first stream
	toKeyP50      = "to-key-p50-ns"  // from a viewer's first byte to the end of its first key frame
	toKeyP99      = "to-key-p99-ns"  // the same
	joinsServed   = "served"         // part of the viewers who came in the window that got a key frame
	loadBusy      = "viewers-busy"   // part of the window in which the viewers' processor worked: near 1, it was the limit
	viewersClosed = "viewers-closed" // by the server
)

type relayWork relay.Work

// pace has a window of one group of pictures: many short rounds say more than
// few long ones.
func (w relayWork) pace(env lab.Env) relayWork {
	if env.Quick {
		w.Streams, w.Viewers, w.Joins = w.Streams/20, min((w.Viewers+3)/4, 100), w.Joins/20
		w.Warm, w.Window = 100*time.Millisecond, 600*time.Millisecond
	}
	switch {
	case w.Edges > 0:
		w.Streams |= 1
		w.Viewers = w.Streams * w.Edges
	case w.Streams > 0:
		w.Viewers = min(w.Viewers, w.Streams)
	}
	w.Warm, w.Window = cmp.Or(w.Warm, 300*time.Millisecond), cmp.Or(w.Window, 2*time.Second)
	return w
}

func (w relayWork) variant(name, about string, s relayServer) lab.Variant {
	return lab.Variant{Name: name, About: about, Open: func(env lab.Env) (lab.Runner, error) { return w.open(env, s) }}
}

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

func (w relayWork) file() ([]byte, error) {
	if w.Streams > 0 {
		return relay.SmallFrames(1000, 30), nil // 240 kbit/s
	}
	return relayClip()
}

// open makes sure that the server is here. Each round starts it again: a server that
// waited with all viewers connected while other variants ran would have dropped
// some of them.
func (w relayWork) open(env lab.Env, s relayServer) (lab.Runner, error) {
	r := &relayRunner{env: env, work: w.pace(env), server: s}
	var err error
	if r.cpus, err = echobench.Processors(); err != nil {
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
	r.work.Clip = filepath.Join(env.Dir, "clip.flv")
	if err := os.WriteFile(r.work.Clip, file, 0o600); err != nil {
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
	env    lab.Env
	work   relayWork
	server relayServer
	cpus   [2]int // of the server and of the load
}

func (r *relayRunner) start() (relayStarted, error) {
	return echobench.OnProcessor(r.cpus[0], func() (relayStarted, error) { return r.server(r.env, r.work.Form) })
}

func (r *relayRunner) round() (map[string]float64, error) {
	server, err := r.start()
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	w := relay.Work(r.work)
	w.Publish, w.View, w.Form, w.Waits, w.Server = server.publish, server.view, server.form, server.waits, server.PID()
	w.App, w.Stream = "live", "bench"
	load, err := echobench.OnProcessor(r.cpus[1], func() (*child.Process, error) { return relayLoad.start(r.env.Self, w) })
	if err != nil {
		return nil, err
	}
	defer load.Stop()
	var result relay.Result
	said, err := lineOf(load)
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
	return r.work.figures(result), nil
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
	if w.Unviewed && !limited {
		f[cpuPerSend] = float64(result.PerDelivery().Nanoseconds())
	}
	if w.Streams > 0 {
		f[growthPerShow] = float64(result.Grown) / float64(w.Streams)
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
		if w.Hop {
			f[hopP50], f[hopP99] = float64(result.HopP50.Nanoseconds()), float64(result.HopP99.Nanoseconds())
		}
	}
	if w.Joins > 0 {
		f[joinsServed] = float64(result.Served) / float64(w.Joins)
	}
	return f
}

var relayLoad = registerChild("relay-load", func(w relay.Work) error { return relay.RunLoad(w, os.Stdin, os.Stdout) })
