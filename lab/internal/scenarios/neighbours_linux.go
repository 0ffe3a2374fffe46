package scenarios

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/lab/internal/echobench"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/mem"
)

var _ = register(80, neighboursGroup)

// neighboursGroup has two goroutines take and let go references, each to a
// frame of its own. What is counted together is fought over.
func neighboursGroup() []lab.Scenario {
	return []lab.Scenario{{
		Name:     "neighbours",
		Title:    "a reference taken and let go by each of two goroutines while the other does so too, to two frames that were read one after the other",
		Op:       "pair", // of each goroutine
		Metric:   lab.NsPerOp,
		Baseline: "pool-refcount",
		Ops:      500_000,
		Targets:  []lab.Target{{Variant: "readbuf", AtMost: 30}},
		Variants: []lab.Variant{
			{Name: "pool-refcount", About: "two buffers of a sync.Pool, each with a count of its own", Open: newCountedPair},
			{Name: "readbuf", About: "our BufReader: two ReadBufs of one block, Retain and Release", Open: newBufPair},
		},
	}}
}

const pairsAtOnce = 128

// holders are two goroutines that do the same at once. Their figure is of the
// moments in which both ran: on a busy machine one may wait for its processor,
// and the other then has no neighbour.
type holders struct {
	pool  *workerPool
	parts [2]struct {
		_    [aLine]byte
		done atomic.Int64 // pairsAtOnce that were done
		_    [aLine]byte
		sum  uint64
		took []float64 // ns for a pair, while the other went on as well
	}
}

// newHolders has hold take and let go a reference to the frame of a goroutine,
// n times, and return the bytes that it had.
func newHolders(hold func(i, n int) uint64, end func()) (lab.Runner, error) {
	cpus, err := echobench.Processors()
	if err != nil {
		end()
		return nil, err
	}
	h := &holders{}
	h.pool = newWorkerPool(len(h.parts), func(i, n int) (err error) {
		h.parts[i].sum, err = echobench.OnProcessor(cpus[i], func() (uint64, error) { return h.work(i, n, hold), nil })
		return err
	})
	return runner{h.run, func() error {
		h.pool.stop()
		end()
		return nil
	}}, nil
}

// work does n pairs in parts, and notes what a pair took in each part during
// which the other goroutine went on as well.
func (h *holders) work(i, n int, hold func(i, n int) uint64) (sum uint64) {
	p, other := &h.parts[i], &h.parts[1-i].done
	for n > 0 {
		k := min(n, pairsAtOnce)
		before, began := other.Load(), time.Now()
		sum += hold(i, k)
		took := time.Since(began)
		p.done.Add(1)
		// One that was interrupted sees the other far ahead.
		if far := other.Load() - before; k == pairsAtOnce && 1 <= far && far <= 2 {
			p.took = append(p.took, float64(took.Nanoseconds())/pairsAtOnce)
		}
		n -= k
	}
	return sum
}

func (h *holders) run(ops int) (lab.Sample, error) {
	for i := range h.parts {
		h.parts[i].took = slices.Grow(h.parts[i].took[:0], ops/pairsAtOnce)
	}
	var took []float64
	var err error
	// On a busy machine one of them may have no processor for a while.
	for tries := 0; tries < 20 && len(took) < 50 && err == nil; tries++ {
		h.pool.begin(ops)
		err = h.pool.wait()
		took = slices.Concat(h.parts[0].took, h.parts[1].took)
	}
	figures := map[string]float64{lab.NsPerOp: math.NaN()} // none, if they never ran at once
	if len(took) > 0 {
		slices.Sort(took)
		figures[lab.NsPerOp] = took[len(took)/2]
	}
	n := h.parts[0].sum + h.parts[1].sum
	return lab.Sample{Bytes: int64(n), Check: n, Figures: figures}, err
}

const neighbourSize = 512

func newCountedPair(lab.Env) (lab.Runner, error) {
	// What comes out of a pool may lie side by side as well. It need not, and so
	// the baseline does not.
	var frames [2]struct {
		counted
		_ [aLine]byte
	}
	for i := range frames {
		frames[i].b = make([]byte, neighbourSize)
		frames[i].refs.Store(1)
	}
	return newHolders(func(i, n int) (sum uint64) {
		c := &frames[i].counted
		for range n {
			c.refs.Add(1)
			sum += uint64(len(c.b))
			if c.refs.Add(-1) == 0 {
				panic("scenarios: the last reference is gone")
			}
		}
		return sum
	}, func() {})
}

func newBufPair(env lab.Env) (lab.Runner, error) {
	s := frameKind{env.Seed, neighbourSize, neighbourSize}.frames()
	r := sluice.NewBufReader(s.source(0))
	var frames [2]mem.Buf
	end := func() {
		for i := range frames {
			if frames[i].Valid() {
				frames[i].Release()
			}
		}
		r.Recycle()
	}
	for i := range frames {
		var err error
		if frames[i], err = r.ReadFrame(frameHead, binary.BigEndian, neighbourSize); err != nil {
			end()
			return nil, fmt.Errorf("scenarios: reading a neighbour: %w", err)
		}
	}
	return newHolders(func(i, n int) (sum uint64) {
		b := frames[i]
		for range n {
			c := b.Retain()
			sum += uint64(c.Len())
			c.Release()
		}
		return sum
	}, end)
}
