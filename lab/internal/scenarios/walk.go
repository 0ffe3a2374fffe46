package scenarios

import (
	"bytes"
	"fmt"
	"io"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// A walk reads exactly n units, one after the other, from where it stands, and
// returns the sum of their marks.
type walk func(n int) (uint64, error)

// A way is a walk that a variant can be made of. Its loop is written out, so that
// nothing is called through an interface between the clock and the work.
type way struct {
	name, about string
	// open returns the walk, and what gives back what it holds: nil for nothing.
	open func(src io.Reader, from place) (walk, func())
}

func pick(ways []way, names ...string) []way {
	var out []way
	for _, name := range names {
		found := false
		for _, w := range ways {
			if w.name == name {
				out, found = append(out, w), true
			}
		}
		if !found {
			panic("scenarios: there is no way " + name)
		}
	}
	return out
}

type walker struct {
	place
	walk walk
	end  func()
	done func() error // closes the source; nil when there is nothing to close
}

func newWalker(w way, src io.Reader, from place) *walker {
	r := &walker{place: from}
	r.walk, r.end = w.open(src, from)
	return r
}

func (r *walker) Run(ops int) (lab.Sample, error) {
	sum, err := r.walk(ops)
	if err != nil {
		return lab.Sample{}, fmt.Errorf("scenarios: walking %d units: %w", ops, err)
	}
	return r.account(ops, sum)
}

func (r *walker) Close() error {
	if r.end != nil {
		r.end()
	}
	if r.done == nil {
		return nil
	}
	return r.done()
}

// walks makes a variant of each way, on a source that open opens: the source, its
// stream, and what closes it or nil.
func walks(ways []way, open func(lab.Env) (io.Reader, *stream, func() error, error)) []lab.Variant {
	return variants(ways, func(env lab.Env, w way) (lab.Runner, error) {
		src, s, done, err := open(env)
		if err != nil {
			return nil, err
		}
		r := newWalker(w, src, place{s: s})
		r.done = done
		return r, nil
	})
}

func variants(ways []way, open func(lab.Env, way) (lab.Runner, error)) []lab.Variant {
	var list []lab.Variant
	for _, w := range ways {
		list = append(list, lab.Variant{Name: w.name, About: w.about, Open: func(env lab.Env) (lab.Runner, error) { return open(env, w) }})
	}
	return list
}

// newFloor reads the bytes of the units and does not look at them: what the
// source alone costs. It compares the last piece of each round with what was
// sent, so that a source that sends something else is found out.
func newFloor(src io.Reader, from place) (walk, func()) {
	s, unit := from.s, from.at
	ring := int64(len(s.ring))
	buf := make([]byte, 64<<10)
	begin := s.ends[unit] // of the next unit
	got := begin          // bytes read since the ring last began
	return func(n int) (uint64, error) {
		to := begin + s.size(unit, n)
		var last []byte
		for got < to {
			k, err := src.Read(buf)
			got += int64(k)
			last = buf[:k]
			if err != nil && got < to {
				return 0, err
			}
		}
		at := int((got - int64(len(last)) + ring) % ring)
		k := min(len(last), len(s.ring)-at)
		if !bytes.Equal(last[:k], s.ring[at:at+k]) || !bytes.Equal(last[k:], s.ring[:len(last)-k]) {
			return 0, errDiffers
		}
		sum := over(s.marks, unit, n)
		whole := to / ring * ring
		begin, got = to-whole, got-whole
		unit = (unit + n) % s.units()
		return sum, nil
	}, nil
}
