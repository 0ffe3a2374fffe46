package live

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// Random histories of segments against a []byte: what was copied in and what was adopted
// reads the same, also from batches that outlive it, and the account agrees with a
// recount at each step.
func TestSegmentsAgainstAModel(t *testing.T) {
	alloc := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, alloc)
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	var acc account
	g := segments{alloc: alloc, account: &acc}
	var model []byte
	first := int64(0)
	type kept struct {
		batch batch
		want  []byte
	}
	var batches []*kept
	fill := func(p []byte) {
		for i := range p {
			p[i] = byte(r.Uint32())
		}
		model = append(model, p...)
	}
	for step := range 3000 {
		switch k := r.IntN(10); {
		case k < 4:
			fill(g.grow(1 + r.IntN(3000)))
		case k == 4:
			fill(g.grow(1 + r.IntN(100_000)))
		case k < 7:
			b := alloc.Get(1 + r.IntN(200_000))
			fill(b.Bytes())
			g.adopt(b)
		case k == 7:
			first += r.Int64N(g.end - first + 1)
			g.trim(first)
		case len(batches) > 20:
			batches[0].batch.reset()
			batches = batches[1:]
		case first < g.end:
			i := first + r.Int64N(g.end-first)
			j := i + 1 + r.Int64N(g.end-i)
			b := &kept{want: bytes.Clone(model[i:j])}
			if r.IntN(2) == 0 {
				g.cut(&b.batch, i, j)
			} else {
				var fresh batch
				g.cut(&fresh, i, j)
				b.batch.join(&fresh, alloc)
			}
			batches = append(batches, b)
		}
		recount(t, seed, step, &g)
		if acc.held.Load() != g.held {
			t.Fatalf("seed %d, step %d: the account has %d bytes, the segments %d", seed, step, acc.held.Load(), g.held)
		}
		if len(batches) > 0 {
			b := batches[r.IntN(len(batches))]
			if got := bytes.Join(b.batch.parts, nil); !bytes.Equal(got, b.want) || b.batch.size != len(b.want) {
				t.Fatalf("seed %d, step %d: a batch of %d bytes has changed", seed, step, len(b.want))
			}
		}
		if len(model) > 16<<20 {
			break
		}
	}
	for _, b := range batches {
		b.batch.reset()
	}
	g.drop()
	if acc.held.Load() != 0 || g.held != 0 {
		t.Errorf("seed %d: %d and %d bytes are left", seed, acc.held.Load(), g.held)
	}
}

// recount adds up what the segments keep.
func recount(t *testing.T, seed uint64, step int, g *segments) {
	t.Helper()
	held, users := int64(0), map[*block]int{}
	if g.open != nil {
		users[g.open]++
	}
	for i := range g.list {
		users[g.list[i].block]++
	}
	for b, n := range users {
		held += int64(b.size)
		if b.users != n {
			t.Fatalf("seed %d, step %d: a block has %d users, counted %d", seed, step, n, b.users)
		}
		if b.slab.Valid() == b.buf.Valid() || b.slab.Valid() && len(b.slab.Bytes()) != b.size {
			t.Fatalf("seed %d, step %d: a block of %d bytes is wrong", seed, step, b.size)
		}
	}
	if held != g.held {
		t.Fatalf("seed %d, step %d: %d bytes are counted, %d held", seed, step, held, g.held)
	}
}

// A frame keeps the whole block that it came in, and is charged for it; neighbours in one are together, until
// the last of them goes.
func TestAdoptedFramesAreChargedForTheirBlocks(t *testing.T) {
	const size, frame = 1 << 20, 40 << 10
	alloc := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, alloc)
	var acc account
	g := segments{alloc: alloc, account: &acc}
	var ends []int64
	for block := range 3 {
		slab := alloc.Slab(size)
		for i := range 4 {
			g.adopt(slab.Cut(i*frame, frame))
			g.grow(100) // as between frames of FLV
			ends = append(ends, g.end)
		}
		slab.Release()
		if held, copied := acc.held.Load(), int64(fullSegment); held < int64(block+1)*size || held > int64(block+1)*size+copied {
			t.Errorf("%d bytes are charged for %d blocks of %d", held, block+1, size)
		}
	}
	for i, end := range ends[:len(ends)-1] {
		g.trim(end)
		if held, blocks := acc.held.Load(), int64(3-(i+1)/4); held < blocks*size || held > blocks*size+fullSegment {
			t.Errorf("%d bytes are charged without the first %d frames, for %d blocks", held, i+1, blocks)
		}
	}
	if out := alloc.Stats().OutBytes; out > size+fullSegment {
		t.Errorf("%d bytes are kept", out)
	}
	g.adopt(mem.Wrap(make([]byte, frame), nil)) // of no allocator
	if held := acc.held.Load(); held < size+frame {
		t.Errorf("%d bytes are charged", held)
	}
	g.drop()
	if acc.held.Load() != 0 {
		t.Errorf("%d bytes are left", acc.held.Load())
	}
}
