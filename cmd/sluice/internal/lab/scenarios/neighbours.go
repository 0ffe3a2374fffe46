package scenarios

import (
	"fmt"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/mem"
)

// neighboursGroup has two goroutines take and let go references, each to a
// frame of its own. What is counted together is fought over.
func neighboursGroup() []lab.Scenario {
	return []lab.Scenario{{
		Name:     "neighbours",
		Title:    "a reference taken and let go by each of two goroutines, to two frames that were read one after the other",
		Op:       "pair", // of each goroutine
		Metric:   lab.NsPerOp,
		Baseline: "pool-refcount",
		Ops:      500_000,
		Targets:  []lab.Target{{Variant: "readbuf", AtMost: 30}},
		Variants: []lab.Variant{
			{Name: "pool-refcount", About: "two buffers of a sync.Pool, each with a count of its own", Open: func(env lab.Env) (lab.Runner, error) {
				return newCountedPair(), nil
			}},
			{Name: "readbuf", About: "our BufReader: two ReadBufs of one block, Retain and Release", Open: func(env lab.Env) (lab.Runner, error) {
				return newBufPair(env)
			}},
		},
	}}
}

// holders are two goroutines that do the same at once.
type holders struct {
	crew *crew
	sums [2]struct {
		n uint64
		_ [aLine]byte
	}
	end func()
}

// newHolders has hold take and let go references to the frame of a goroutine,
// n times, and return the bytes that it had.
func newHolders(hold func(i, n int) uint64, end func()) *holders {
	h := &holders{end: end}
	h.crew = newCrew(len(h.sums), func(i, n int) error {
		h.sums[i].n = hold(i, n)
		return nil
	})
	return h
}

func (h *holders) Run(ops int) (lab.Sample, error) {
	h.crew.begin(ops)
	err := h.crew.wait()
	n := h.sums[0].n + h.sums[1].n
	return lab.Sample{Bytes: int64(n), Check: n}, err
}

func (h *holders) Close() error {
	h.crew.stop()
	h.end()
	return nil
}

// neighbourSize is the payload of each of the frames in bytes.
const neighbourSize = 512

func newCountedPair() *holders {
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
		err := r.Skip(frameHead)
		if err == nil {
			frames[i], err = r.ReadBuf(neighbourSize)
		}
		if err != nil {
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
	}, end), nil
}
