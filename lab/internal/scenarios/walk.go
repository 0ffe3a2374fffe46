package scenarios

import (
	"bytes"
	"fmt"
	"io"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// A walk reads units from a source, one after the other, in one way.
type walk interface {
	// walk reads exactly n units from where it stands and returns the sum of
	// their marks.
	walk(n int) (uint64, error)
}

// A way is a walk that a variant can be made of.
type way struct {
	name, about string
	open        func(src io.Reader, from place) walk
}

// pick returns the named ways, in that order.
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

// end gives back what a walk holds, if it holds anything.
func end(w walk) {
	if c, ok := w.(interface{ end() }); ok {
		c.end()
	}
}

// A walker runs one walk and compares its result with the stream.
type walker struct {
	place
	w    walk
	done func() error // closes the source; nil when there is nothing to close
}

func newWalker(w way, src io.Reader, from place) *walker {
	return &walker{place: from, w: w.open(src, from)}
}

func (r *walker) Run(ops int) (lab.Sample, error) {
	sum, err := r.w.walk(ops)
	if err != nil {
		return lab.Sample{}, fmt.Errorf("scenarios: walking %d units: %w", ops, err)
	}
	return r.account(ops, sum)
}

func (r *walker) Close() error {
	end(r.w)
	if r.done == nil {
		return nil
	}
	return r.done()
}

// floor reads the bytes of the units and does not look at them: what the
// source alone costs. It compares the last piece of each round with what was
// sent, so that a source that sends something else is found out.
type floor struct {
	s    *stream
	src  io.Reader
	buf  []byte
	last []byte // what the latest Read brought
	unit int    // the next unit
	got  int64  // bytes read since the ring last began
	turn int64  // where in the ring the next unit starts
	head bool   // the head has been read
}

func newFloor(src io.Reader, from place) walk {
	at := from.s.ends[from.at]
	return &floor{s: from.s, src: src, buf: make([]byte, 64<<10), unit: from.at, got: at, turn: at}
}

func (f *floor) walk(n int) (uint64, error) {
	if !f.head {
		if _, err := io.ReadFull(f.src, f.buf[:len(f.s.head)]); err != nil {
			return 0, err
		}
		f.head = true
	}
	to := f.turn + f.s.size(f.unit, n)
	got := f.got
	for got < to {
		k, err := f.src.Read(f.buf)
		got += int64(k)
		f.last = f.buf[:k]
		if err != nil && got < to {
			return 0, err
		}
	}
	if !f.matches(got) {
		return 0, errDiffers
	}
	sum := over(f.s.marks, f.unit, n)
	turn := int64(len(f.s.ring))
	whole := to / turn * turn
	f.turn, f.got = to-whole, got-whole
	f.unit = (f.unit + n) % f.s.units()
	return sum, nil
}

// matches reports whether the latest piece is what the ring has before got.
func (f *floor) matches(got int64) bool {
	ring := f.s.ring
	turn := int64(len(ring))
	at := int((got - int64(len(f.last)) + turn) % turn)
	k := min(len(f.last), len(ring)-at)
	return bytes.Equal(f.last[:k], ring[at:at+k]) && bytes.Equal(f.last[k:], ring[:len(f.last)-k])
}
