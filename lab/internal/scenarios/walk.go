package scenarios

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"weak"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/netsim"
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
		at := slices.IndexFunc(ways, func(w way) bool { return w.name == name })
		if at < 0 {
			panic("scenarios: there is no way " + name)
		}
		out = append(out, ways[at])
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

// A stream is what a source sends without end: a ring of whole frames, its units, and for
// each the mark that a reader who has looked at it must come to. It is shared between
// variants and never written after it was made.
type stream struct {
	ring  []byte
	ends  []int64  // ends[i] is where the first i units of the ring end
	marks []uint64 // marks[i] is the sum of their marks
	max   int      // the longest unit in bytes
}

var errDiffers = errors.New("scenarios: what was read differs from what was sent")

// frameHead is the length of a frame's header: the payload's length in bytes,
// big-endian.
const frameHead = 4

// ringSize is how many bytes pass before a stream repeats itself: more than a
// first-level cache and than any reader's buffer, less than the second level of
// common machines. What a socket delivers the kernel has just written, so it
// comes from a near cache; a ring that does not fit one measures the memory
// bus, which is the same for all variants and drowns what they differ in.
const ringSize = 1 << 20

func (s *stream) units() int { return len(s.ends) - 1 }

func (s *stream) source(unit int) io.Reader {
	loop := netsim.NewLoop(s.ring, -1)
	io.CopyN(io.Discard, loop, s.ends[unit]) // an endless source does not fail
	return loop
}

func over[T int64 | uint64](prefix []T, i, n int) T {
	last := len(prefix) - 1
	rounds := T(n / last)
	n %= last
	sum := rounds * prefix[last]
	if i+n <= last {
		return sum + prefix[i+n] - prefix[i]
	}
	return sum + prefix[last] - prefix[i] + prefix[i+n-last]
}

func (s *stream) size(i, n int) int64 { return over(s.ends, i, n) }

func (s *stream) load(i, n int) int64 { return s.size(i, n) - int64(n)*frameHead }

type place struct {
	s     *stream
	at    int    // the next unit
	times uint64 // how often each unit is looked at; 0 is once
}

// account moves the place on by ops units whose marks the reader says to be
// sum, and makes the sample of it. The check does not depend on the place, so
// that variants may differ in what they did before.
func (p *place) account(ops int, sum uint64) (lab.Sample, error) {
	s := p.s
	if want := over(s.marks, p.at, ops) * max(p.times, 1); sum != want {
		return lab.Sample{}, fmt.Errorf("%w: %d units from unit %d come to %#x, want %#x", errDiffers, ops, p.at, sum, want)
	}
	out := lab.Sample{Bytes: s.load(p.at, ops), Check: over(s.marks, 0, ops)}
	p.at = (p.at + ops) % s.units()
	return out, nil
}

// mark is the work that is done on each payload, the same in all variants:
// enough to need the length and both ends of it, too little to hide what
// bringing it here cost. It reads p and keeps nothing.
func mark(p []byte) uint64 {
	return uint64(len(p)) + uint64(p[0])<<24 + uint64(p[len(p)-1])<<40
}

// A frameKind names a stream of frames: payloads of lo up to hi bytes, drawn
// with the seed.
type frameKind struct {
	Seed   uint64
	Lo, Hi int
}

var (
	streamsMu sync.Mutex
	streams   = map[frameKind]weak.Pointer[stream]{}
)

// frames returns the stream of that kind: the same one for all that have it open
// at the same time, so that variants read the same memory.
func (k frameKind) frames() *stream {
	streamsMu.Lock()
	defer streamsMu.Unlock()
	if s := streams[k].Value(); s != nil {
		return s
	}
	s := k.make()
	streams[k] = weak.Make(s)
	return s
}

func (k frameKind) make() *stream {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], k.Seed)
	binary.LittleEndian.PutUint64(key[8:], uint64(k.Lo)<<32|uint64(k.Hi))
	rnd := rand.NewChaCha8(key)
	s := &stream{ring: make([]byte, 0, ringSize+frameHead+k.Hi), ends: []int64{0}, marks: []uint64{0}, max: frameHead + k.Hi}
	for len(s.ring) < ringSize {
		n := k.Lo + int(rnd.Uint64()%uint64(k.Hi-k.Lo+1))
		s.ring = binary.BigEndian.AppendUint32(s.ring, uint32(n))
		at := len(s.ring)
		s.ring = s.ring[:at+n]
		p := s.ring[at:]
		rnd.Read(p) // never fails
		s.ends = append(s.ends, int64(len(s.ring)))
		s.marks = append(s.marks, s.marks[len(s.marks)-1]+mark(p))
	}
	return s
}
