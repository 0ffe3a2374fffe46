package mem

import (
	"fmt"
	"weak"
)

// Slab is a block in the hands of one filler, who writes it from the front
// and cuts Bufs out of what is written. References are bought in lots, so a
// Cut costs no atomic operation. Readers, slabs for internal read buffers and
// the like are made of it. It belongs to one goroutine at a time; the Bufs
// cut from it belong to whoever has them.
//
// Memory that was cut out must not be written any more while Shared is true.
type Slab struct {
	b     *block
	key   uint64
	spare uint32 // references bought and not yet cut
}

// lot is how many references a Slab buys at once: enough that 64 KiB cut in
// single bytes needs one, far from maxRefs.
const lot = 1 << 16

// Slab returns a block of at least n bytes, retained. Like Get it never fails
// and counts against the budget; TrySlab refuses.
func (a *Allocator) Slab(n int) Slab { return a.Get(n).toSlab() }

// TrySlab is Slab within the budget: it returns ErrBudget instead of going
// over it.
func (a *Allocator) TrySlab(n int) (Slab, error) {
	if s, ok := a.CachedSlab(n); ok {
		return s, nil
	}
	b, err := a.TryGet(n)
	if err != nil {
		return Slab{}, err
	}
	return b.toSlab(), nil
}

// CachedSlab is Slab when that takes no work: a free block is at hand, and
// neither a budget nor the leak kit has a say. Otherwise it reports false, and
// TrySlab is the way. It is for callers with little stack left: a goroutine
// whose stack never grows beyond its first 2 KiB is half as dear to keep.
func (a *Allocator) CachedSlab(n int) (Slab, bool) {
	if uint(n-1) >= maxClass {
		return Slab{}, false
	}
	c := &a.classes[classOf(n)]
	if c.flags.Load()&flagCareful != 0 {
		return Slab{}, false
	}
	b, _ := c.pool.Get().(*block)
	if b == nil {
		return Slab{}, false
	}
	w := b.word.Load()
	b.gauge.markTook(w)
	return Slab{b: b, key: w &^ refMask}, true
}

// SlabOf makes a Slab of b, transferred, and says where in the Slab's bytes b
// lies: at i up to j. Only those bytes are the caller's, to read.
func SlabOf(b Buf) (s Slab, i, j int) {
	b.live("SlabOf")
	return Slab{b: b.b, key: b.key}, int(b.off), int(b.off + b.n)
}

func (b Buf) toSlab() Slab { return Slab{b: b.b, key: b.key} }

// Valid reports whether s holds a block.
func (s *Slab) Valid() bool { return s.b != nil }

// Bytes returns the whole block, borrowed until Release or Park.
func (s *Slab) Bytes() []byte { return s.b.data }

// Cut returns n bytes from offset i of the block, retained by the caller.
func (s *Slab) Cut(i, n int) Buf {
	b := s.b
	if s.spare == 0 || b.track != nil || uint(i) > uint(len(b.data)) || uint(n) > uint(len(b.data)-i) {
		return s.cutSlow(i, n)
	}
	s.spare--
	return Buf{b, s.key, uint32(i), uint32(n)}
}

//go:noinline
func (s *Slab) cutSlow(i, n int) Buf {
	if i < 0 || n < 0 || i > len(s.b.data)-n {
		panic(fmt.Sprintf("mem: Slab.Cut(%d, %d) of %d bytes", i, n, len(s.b.data)))
	}
	if s.spare == 0 {
		s.b.retain(s.key, lot, "Slab.Cut")
		s.spare = lot
	}
	s.spare--
	return Buf{s.b, s.b.token(s.key), uint32(i), uint32(n)}
}

// Shared reports whether somebody else holds a part of the block.
func (s *Slab) Shared() bool {
	return s.b.word.Load()&refMask != uint64(s.spare)+1
}

// Release lets the block go and empties s. Bufs cut from it live on.
func (s *Slab) Release() {
	b := s.b
	if b == nil {
		panic("mem: Slab.Release: the Slab is empty or was released")
	}
	s.b = nil
	w := b.word.Load()
	// Nobody else has a part of a plain block: as in Buf.Release.
	if w == s.key|uint64(s.spare)+1 && b.plain && w < lastGen<<genShift {
		b.gauge.markFreed(w)
		if b.word.CompareAndSwap(w, w&genMask+genOne+1) {
			s.spare = 0
			if c := b.home; c.flags.Load()&flagsBack == 0 {
				c.pool.Put(b)
			} else {
				c.takeBack(b)
			}
			return
		}
		b.notFreed(w)
	}
	s.giveUp(b, "Slab.Release")
}

func (s *Slab) giveUp(b *block, op string) {
	if b.track != nil {
		b.track.drop(s.key, op)
	}
	if b.gauge != nil {
		b.gauge.markLoose()
	}
	b.drop(s.key, s.spare+1, op)
	s.spare = 0
}

// A Parked slab is the memory of a block that its filler has let go and
// would like to go on filling if others have kept it alive. It holds nothing:
// neither a reference nor memory.
type Parked struct {
	b   weak.Pointer[block]
	key uint64
}

// Park releases s and returns what Unpark needs.
func (s *Slab) Park() Parked {
	b := s.b
	if b.self == (weak.Pointer[block]{}) {
		b.self = weak.Make(b)
	}
	p := Parked{b.self, s.key}
	s.Release()
	return p
}

// Unpark returns the block to its filler if somebody has held it without a
// break since Park, and reports whether it did.
func (p Parked) Unpark() (Slab, bool) {
	b := p.b.Value()
	if b == nil || !b.tryRetain(p.key, 1) {
		return Slab{}, false
	}
	if b.gauge != nil {
		b.gauge.markHeld()
	}
	return Slab{b: b, key: b.token(p.key)}, true
}
