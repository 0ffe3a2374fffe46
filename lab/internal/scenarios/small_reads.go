package scenarios

import (
	"bufio"
	"encoding/binary"
	"io"
	"math/rand/v2"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/netsim"
)

var _ = register(30, smallGroup)

// smallGroup reads fields of 1 to 16 bytes, as parsers of headers do: numbers
// of up to 4 bytes, big-endian, and longer fields as they are.
func smallGroup() []lab.Scenario {
	sc := lab.Scenario{
		Name:     "small-reads",
		Title:    "fields of 1 to 16 bytes read one by one: bytes, numbers and short strings",
		Op:       "field",
		Metric:   lab.NsPerOp,
		Baseline: "peek",
		Ops:      2_000_000,
	}
	for _, v := range []struct {
		name, about string
		open        func(io.Reader, *fields) walk
	}{
		{"source", "the source alone, read 64 KiB at a time and not looked at", func(src io.Reader, f *fields) walk {
			w, _ := newFloor(src, place{s: f.s})
			return w
		}},
		{"peek", "ReadByte, Peek and Discard on a bufio.Reader of 64 KiB", peekFields},
		{"bufiox", "cloudwego bufiox, Next over 64 KiB", bufioxFields},
		{"next", "our BufReader: ReadByte, ReadBE32 and Next", nextFields},
	} {
		sc.Variants = append(sc.Variants, lab.Variant{Name: v.name, About: v.about, Open: func(env lab.Env) (lab.Runner, error) {
			f := newFields(env.Seed)
			r := &walker{place: place{s: f.s}}
			r.walk = v.open(netsim.NewReader(f.s.source(0), netsim.Good, env.Seed), f)
			r.end = f.end
			return r, nil
		}})
	}
	return []lab.Scenario{sc}
}

// fieldCount is how many fields pass before they repeat.
const fieldCount = 1 << 18

// fields are the lengths of fields, which reader and source agree on.
type fields struct {
	s     *stream
	sizes []byte // 1 to 16
	at    int
	end   func()
}

func newFields(seed uint64) *fields {
	rnd := rand.New(rand.NewPCG(seed, fieldCount))
	f := &fields{s: newStream(), sizes: make([]byte, fieldCount)}
	for i := range f.sizes {
		n := 1 + rnd.IntN(16)
		f.sizes[i] = byte(n)
		at := len(f.s.ring)
		for range n {
			f.s.ring = append(f.s.ring, byte(rnd.Uint32()))
		}
		f.s.add(n, n, fieldMark(f.s.ring[at:]))
	}
	return f
}

// size returns the length of the next field.
func (f *fields) size() int {
	n := int(f.sizes[f.at%fieldCount])
	f.at++
	return n
}

// fieldMark is the work on a field: a number when it is short.
func fieldMark(p []byte) uint64 {
	if len(p) > 4 {
		return mark(p)
	}
	return bigEndian(p)
}

func bigEndian(p []byte) uint64 {
	if len(p) == 4 {
		return uint64(binary.BigEndian.Uint32(p))
	}
	var v uint64
	for _, c := range p {
		v = v<<8 | uint64(c)
	}
	return v
}

func peekFields(src io.Reader, f *fields) walk {
	r := bufio.NewReaderSize(src, 64<<10)
	return func(n int) (sum uint64, err error) {
		for range n {
			k := f.size()
			if k == 1 {
				c, err := r.ReadByte()
				if err != nil {
					return sum, err
				}
				sum += uint64(c)
				continue
			}
			p, err := r.Peek(k)
			if err != nil {
				return sum, err
			}
			sum += fieldMark(p)
			if _, err := r.Discard(k); err != nil {
				return sum, err
			}
		}
		return sum, nil
	}
}

func bufioxFields(src io.Reader, f *fields) walk {
	w := newBufiox(src, f.s)
	f.end = w.end
	return func(n int) (sum uint64, err error) {
		if err := w.grow(); err != nil {
			return 0, err
		}
		for range n {
			p, err := w.r.Next(f.size())
			if err != nil {
				return sum, err
			}
			sum += fieldMark(p)
			if err := w.settle(); err != nil {
				return sum, err
			}
		}
		return sum, nil
	}
}

func nextFields(src io.Reader, f *fields) walk {
	r := sluice.NewBufReader(src)
	f.end = r.Recycle
	return func(n int) (sum uint64, err error) {
		for range n {
			k := f.size()
			switch {
			case k == 1:
				c, err := r.ReadByte()
				if err != nil {
					return sum, err
				}
				sum += uint64(c)
			case k <= 4:
				v, err := r.ReadBE32(k)
				if err != nil {
					return sum, err
				}
				sum += uint64(v)
			default:
				p, err := r.Next(k)
				if err != nil {
					return sum, err
				}
				sum += mark(p)
			}
		}
		return sum, nil
	}
}
