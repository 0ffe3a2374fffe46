package scenarios

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sluice-go/sluice/internal/flvclip"
	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/echobench"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/relay"
)

// relayWork is a stream and who looks at it.
type relayWork struct {
	form    string
	viewers int
	joins   int           // viewers that come in the window
	atOnce  bool          // at its beginning, all of them
	window  time.Duration // 0: as usual
	tls     bool
}

// relayPace is for how long a round goes on, and with how many viewers.
type relayPace struct {
	viewers, joins int
	warm, window   time.Duration
}

// pace has a window of one group of pictures: many short rounds say more than
// few long ones.
func (w relayWork) pace(env lab.Env) relayPace {
	if env.Quick {
		return relayPace{max(1, min(w.viewers/4, 100)), w.joins / 20, 100 * time.Millisecond, 600 * time.Millisecond}
	}
	return relayPace{w.viewers, w.joins, 300 * time.Millisecond, cmp.Or(w.window, 2*time.Second)}
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

// open makes sure that the server is here. Each round starts it anew: a server that
// waited with all viewers connected while other variants ran would have dropped
// some of them.
func (w relayWork) open(env lab.Env, s relayServer) (lab.Runner, error) {
	r := &relayRunner{env: env, work: w, server: s, clip: filepath.Join(env.Dir, "clip.flv")}
	var err error
	if r.serverCPU, r.loadCPU, err = echobench.Processors(); err != nil {
		return nil, err
	}
	file, err := relayClip()
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
	if err != nil {
		return s, err
	}
	if err := s.listening(&s); err != nil {
		s.Stop()
		return s, err
	}
	return s, nil
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
	p := r.work.pace(r.env)
	work, err := json.Marshal(relay.Work{
		Publish: server.publish, View: server.view, Form: server.form, App: "live", Stream: "bench",
		Viewers: p.viewers, Joins: p.joins, AtOnce: r.work.atOnce, TLS: r.work.tls, Warm: p.warm, Window: p.window, Clip: r.clip, Server: server.PID(),
	})
	if err != nil {
		return nil, err
	}
	said, err := ask(load, string(work))
	if err != nil {
		return nil, fmt.Errorf("%w; the server: %s", err, server.Said())
	}
	if said != "ready" {
		return nil, fmt.Errorf("scenarios: the load said %.60q", said)
	}
	result, err := askFor[relay.Result](load, "go")
	if err != nil {
		return nil, fmt.Errorf("%w; the server: %s", err, server.Said())
	}
	if result.Odd > 0 && !server.lax {
		return nil, fmt.Errorf("scenarios: %d frames are not as they were published: %s", result.Odd, result.Oddity)
	}
	f := relayFigures(result)
	if result.Served > 0 {
		f[toKeyP50], f[toKeyP99] = float64(result.KeyP50.Nanoseconds()), float64(result.KeyP99.Nanoseconds())
	}
	if p.joins > 0 {
		f[joinsServed] = float64(result.Served) / float64(p.joins)
	}
	return f, nil
}

// mostBusy is up to which part of the window the viewers may work, who share a
// processor, for the figures to be the server's.
const mostBusy = 0.9

// relayFigures leave out what was measured of this process, which only waits.
func relayFigures(result relay.Result) map[string]float64 {
	f := map[string]float64{
		framesLost:    float64(result.Lost),
		viewersClosed: float64(result.Closed),
		residentAll:   float64(result.Resident),
		loadBusy:      result.Busy,
		perGB:         result.PerGB(),
		p50:           float64(result.LagP50.Nanoseconds()),
		p99:           float64(result.LagP99.Nanoseconds()),
		sentLate:      float64(result.Late.Nanoseconds()),
	}
	if result.Busy > mostBusy {
		// The viewers were the limit: no figure is better than theirs.
		delete(f, perGB)
		for _, name := range []string{p50, p99} {
			delete(f, name)
		}
	}
	return withoutOwn(f)
}
