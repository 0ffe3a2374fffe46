package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/proc"
	"github.com/sluice-go/sluice/mem"
)

var _ = register(120, budgetGroup)

func budgetGroup() []lab.Scenario {
	few := budgetScenario(64, 1<<20, 100_000)
	few.Targets = append(few.Targets,
		lab.Target{Variant: "budget", Metric: leastMedian, AtLeast: 0.5},
		lab.Target{Variant: "budget", Metric: framesPerS, Against: "unlimited", AtLeast: 0.7})
	many := budgetScenario(1000, 4<<20, 100_000)
	many.Targets = append(many.Targets, lab.Target{Variant: "budget", AtMost: 8000})
	return []lab.Scenario{few, many}
}

func budgetScenario(readers int, budget int64, frames int) lab.Scenario {
	variant := func(name, about string, limit int64) lab.Variant {
		return lab.Variant{Name: name, About: about, Open: func(env lab.Env) (lab.Runner, error) {
			return newContest(env, readers, mem.New(mem.Options{Name: "budget", Budget: limit}))
		}}
	}
	return lab.Scenario{
		Name:     "budget/" + strconv.Itoa(readers),
		Title:    fmt.Sprintf("frames of 16 KiB by %d readers over loopback TCP, which share %d MiB, from another process as fast as it can", readers, budget>>20),
		Op:       "frame",
		Metric:   lab.CPUPerOp,
		Baseline: "unlimited",
		Ops:      frames,
		Fixed:    true,
		Named:    true,
		Targets:  []lab.Target{{Variant: "budget", Metric: budgetErrors, AtMost: 0}},
		Variants: []lab.Variant{
			variant("unlimited", "our BufReader: ReadBuf and Release, all readers on one allocator without a budget", 0),
			variant("budget", "the same with the budget; a reader whose call ends with mem.ErrBudget calls again", budget),
		},
	}
}

const (
	framesPerS   = "frames/s"
	leastMedian  = "least/median"  // frames of the reader that got fewest, to the median reader's
	budgetErrors = "budget-errors" // calls of a round that ended with mem.ErrBudget
)

const budgetFrame = 16 << 10

// contestTime bounds a round in which the readers get next to nothing. Its
// figures are then those of the frames that came.
const contestTime = 5 * time.Second

// A contest is readers of one allocator, each on a connection of its own, which
// read until they have so many frames together.
type contest struct {
	s       *stream
	remote  *remote
	readers []*contestant
	pool    *workerPool
	longest time.Duration
	left    atomic.Int64    // frames until the end of a round
	done    chan struct{}   // a value in it says that they are there
	ctx     context.Context // of a round
}

func newContest(env lab.Env, readers int, a *mem.Allocator) (lab.Runner, error) {
	// Those of both variants; 0 is unknown.
	if limit := machine.This().OpenFiles; limit > 0 && limit < uint64(2*readers+100) {
		return nil, fmt.Errorf("scenarios: only %d files may be open: %w", limit, errors.ErrUnsupported)
	}
	kind := frameKind{env.Seed, budgetFrame, budgetFrame}
	x := &contest{s: kind.frames(), longest: contestTime, done: make(chan struct{}, 1)}
	if env.Quick {
		x.longest /= 10
	}
	var err error
	if x.remote, err = dialRemote(env.Self, kind, readers); err != nil {
		return nil, err
	}
	for _, conn := range x.remote.conns {
		r := &sluice.BufReader{Allocator: a}
		r.Reset(conn)
		x.readers = append(x.readers, &contestant{place: place{s: x.s}, r: r, size: -1})
	}
	x.pool = newWorkerPool(readers, func(i, _ int) error { return x.readers[i].read(x) })
	return x, nil
}

func (x *contest) Run(ops int) (out lab.Sample, err error) {
	for _, c := range x.readers {
		c.frames, c.sum, c.refused = 0, 0, 0
	}
	x.left.Store(int64(ops))
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	x.ctx = ctx
	before, _ := proc.CPU(0) // of this process it does not fail
	began := time.Now()
	limit := time.NewTimer(x.longest)
	defer limit.Stop()
	x.pool.begin(0)
	select {
	case <-x.done:
	case <-limit.C:
	}
	// What follows, the end of a thousand readers, is not theirs to pay for.
	took := time.Since(began)
	after, _ := proc.CPU(0)
	frames := float64(int64(ops) - x.left.Load())
	stop()
	err = x.pool.wait()
	select {
	case <-x.done: // it came with the limit
	default:
	}
	if err != nil {
		return out, err
	}
	if out.Figures, err = x.figures(); err != nil {
		return out, err
	}
	if frames == 0 {
		return out, fmt.Errorf("scenarios: no frame in %v", took)
	}
	out.Figures[framesPerS] = frames / took.Seconds()
	out.Figures[lab.NsPerOp] = float64(took.Nanoseconds()) / frames
	out.Figures[lab.CPUPerOp] = float64((after - before).Nanoseconds()) / frames
	// Which reader got which frames differs; all were compared with what was sent.
	out.Bytes, out.Check = x.s.load(0, ops), over(x.s.marks, 0, ops)
	return out, nil
}

func (x *contest) figures() (map[string]float64, error) {
	var counts []int
	refused := 0
	for _, c := range x.readers {
		if _, err := c.account(c.frames, c.sum); err != nil {
			return nil, err
		}
		counts = append(counts, c.frames)
		refused += c.refused
	}
	slices.Sort(counts)
	// 0 also when the median reader got nothing.
	share := float64(counts[0]) / float64(max(1, counts[len(counts)/2]))
	return map[string]float64{leastMedian: share, budgetErrors: float64(refused)}, nil
}

func (x *contest) Close() error {
	x.pool.stop()
	for _, c := range x.readers {
		c.r.Recycle()
	}
	return x.remote.hangUp()
}

type contestant struct {
	place
	r       *sluice.BufReader
	size    int // of the frame whose header was read, or -1
	frames  int
	sum     uint64
	refused int
}

func (c *contestant) read(x *contest) error {
	// A wait for memory does not see the deadline of its connection everywhere.
	c.r.SetContext(x.ctx)
	for {
		m, err := c.frame()
		if err == nil {
			c.frames++
			c.sum += m
			if x.left.Add(-1) == 0 {
				x.done <- struct{}{}
			}
		}
		switch {
		case x.ctx.Err() != nil:
			return nil
		case errors.Is(err, mem.ErrBudget):
			c.refused++
		case err != nil:
			return err
		}
	}
}

func (c *contestant) frame() (uint64, error) {
	if c.size < 0 {
		n, err := c.r.ReadBE32(frameHead)
		if err != nil {
			return 0, err
		}
		c.size = int(n)
	}
	b, err := c.r.ReadBuf(c.size)
	if err != nil {
		return 0, err
	}
	c.size = -1
	m := mark(b.Bytes())
	b.Release()
	return m, nil
}
