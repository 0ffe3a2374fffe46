package matrix

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

// lab is a world of targets that are none and of loads that take no time.
type lab struct {
	t *testing.T
	// answer is what a load comes to; nil for honest.
	answer func(load.Plan) (*load.Result, error)

	mu      sync.Mutex
	started []string        // arguments
	running map[string]bool // by address
	plans   []load.Plan     // of loads that were not for readiness
	args    map[string]string
	kept    int64
	ended   error // of all targets
	startBy func(Target) error
}

func newLab(t *testing.T) *lab {
	l := &lab{t: t, running: map[string]bool{}, args: map[string]string{}}
	t.Cleanup(func() {
		if len(l.running) > 0 {
			t.Errorf("targets are left: %v", l.running)
		}
	})
	return l
}

type fakeProcess struct {
	lab  *lab
	addr string
}

func (p *fakeProcess) Addr() string { return p.addr }
func (p *fakeProcess) PID() int     { return 7 }
func (p *fakeProcess) Kept() int64  { return p.lab.kept }
func (p *fakeProcess) Ended() error { return p.lab.ended }
func (p *fakeProcess) Stop() error {
	p.lab.mu.Lock()
	defer p.lab.mu.Unlock()
	if !p.lab.running[p.addr] {
		p.lab.t.Errorf("%s is stopped twice", p.addr)
	}
	delete(p.lab.running, p.addr)
	return nil
}

func (l *lab) start(_ context.Context, target Target) (Process, error) {
	if l.startBy != nil {
		if err := l.startBy(target); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	addr := fmt.Sprintf("127.0.0.1:%d", 1000+len(l.started))
	l.started = append(l.started, strings.Join(target.Args, " "))
	l.args[addr] = strings.Join(target.Args, " ")
	l.running[addr] = true
	return &fakeProcess{l, addr}, nil
}

func (l *lab) load(ctx context.Context, p load.Plan) (*load.Result, error) {
	if err := p.Check(); err != nil {
		l.t.Errorf("%+v: %v", p, err)
	}
	if !l.running[p.Target] && p.Depth != 64 { // through a network
		l.t.Errorf("a load on %s, which does not run", p.Target)
	}
	if p.Duration != readyRun {
		l.plans = append(l.plans, p)
	}
	if err := ctx.Err(); err != nil {
		return &load.Result{Interrupted: true}, nil
	}
	if l.answer != nil {
		return l.answer(p)
	}
	return honest(p)
}

// honest is a result that depends on the plan alone, with a noise of a few
// percent.
func honest(p load.Plan) (*load.Result, error) {
	rng := rand.New(rand.NewPCG(p.Seed, 1))
	noise := func() float64 { return 1 + 0.06*(rng.Float64()-0.5) }
	iops := 100_000 * noise()
	if p.Rate > 0 {
		iops = p.Rate
	}
	p50 := time.Duration(float64(p.Conns*p.Depth) / iops * 1e9)
	return &load.Result{
		Valid: true, Requests: uint64(iops), IOPS: iops, Throughput: iops * float64(p.Sizes.Max),
		Latency: &load.Distribution{Count: uint64(iops), P50: p50, P99: time.Duration(2 * float64(p50) * noise())},
		Jitter:  p50 / 10, Target: &load.Use{CPUPerOp: 5000},
	}, nil
}

// options measure in the lab and save to memory, from which it can be loaded.
func (l *lab) options(saved *[]byte) Options {
	return Options{Load: l.load, Start: l.start, Save: func(f *File) error {
		var b bytes.Buffer
		err := f.Write(&b)
		*saved = b.Bytes()
		return err
	}}
}

// small is a grid of few cells.
func small(t *testing.T, name string) *File {
	t.Helper()
	c := Choice{Rows: "64,4K", Columns: "1,16", Layers: []string{"std", "bufreader"}}
	switch name {
	case RateDurability:
		c = Choice{Rows: "100,max", Columns: "1K,16K"}
	case RateNetwork:
		c = Choice{Rows: "100,max", Columns: "none,1ms", Layers: []string{"0s"}}
	case Buffer:
		c = Choice{Rows: "4K,64K", Columns: "none,64K"}
	}
	f, err := New(name, c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// reload is what a later call would find.
func reload(t *testing.T, saved []byte) *File {
	t.Helper()
	var f File
	err := json.Unmarshal(saved, &f)
	if err = errors.Join(err, f.Check()); err != nil {
		t.Fatalf("%v in %s", err, saved)
	}
	f.Derive()
	return &f
}

var errBroken = errors.New("the wire broke")
