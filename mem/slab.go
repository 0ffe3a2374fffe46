package mem

import (
	"fmt"
	"weak"

	"github.com/sluice-go/sluice/internal/hooks"
	"github.com/sluice-go/sluice/internal/sys"
)

// Slab is a block in the hands of one filler, who writes it from the front
// and cuts Bufs out of what is written. A Cut costs no atomic operation,
// however many holders it is for. Readers, receive buffers and the like are
// made of it. It belongs to one goroutine at a time; the Bufs cut from it
// belong to their holders. Unlike a Buf it must not be used through two copies: a
// release of the second would give back a block that is another's by then.
//
// Memory that was cut out must not be written any more while Shared is true.
type Slab struct {
	b *block
	c *cell // the newest cell that may be in use: all after it are free
}

// Slab returns a block of at least n bytes, retained. Like Get it never fails,
// counts against the budget and panics for an n that cannot be; TrySlab refuses.
func (a *Allocator) Slab(n int) Slab {
	a.checkSize("Slab", n)
	return slabOf(a.Get(n))
}

// TrySlab returns a block of at least n bytes, retained, within the budget: it
// returns an error that matches ErrBudget instead of going over it.
func (a *Allocator) TrySlab(n int) (Slab, error) {
	if s := a.cachedSlab(n); s.Valid() {
		return s, nil
	}
	a.checkSize("TrySlab", n)
	if a.budget.limit == 0 {
		return slabOf(a.Get(n)), nil
	}
	b, err := a.TryGet(n)
	if err != nil {
		return Slab{}, err
	}
	return slabOf(b), nil
}

// cachedSlab is the fast path of TrySlab: it takes a free block from the cache
// when neither a budget nor the leak kit is in use. Otherwise the Slab is not
// Valid, and the caller must use TrySlab. It is for callers with little stack
// left: a goroutine whose stack never grows beyond its first 2 KiB costs half
// as much to keep.
func (a *Allocator) cachedSlab(n int) Slab {
	if uint(n-1) >= maxClass {
		return Slab{}
	}
	c := &a.classes[classOf(n)]
	if c.flags.Load()&flagCareful != 0 {
		return Slab{}
	}
	b, _ := c.pool.Get().(*block)
	if b == nil {
		return Slab{}
	}
	b.gauge.markTook()
	return b.slab()
}

// slab begins the filling of b, which its caller owns alone.
func (b *block) slab() Slab {
	b.own.kind, b.own.tracked = cut, false
	sys.StoreRelaxed64(&b.own.word, b.own.word.Load()&genMask)
	sys.StoreRelaxed64(&b.witness, filling)
	return Slab{b, &b.own}
}

// slabOf makes a Slab of a Buf, transferred, that Get or Wrap returned and
// that has no other holder. Any other Buf stays the caller's, and the returned
// Slab is not Valid.
func slabOf(b Buf) Slab {
	b.live("slabOf")
	c := b.c
	if w := c.word.Load(); c.kind > single || (w^b.key)&(liveMask|genMask) != 0 {
		return Slab{}
	}
	blk := c.block
	if blk.track != nil {
		blk.track.fill(c, b.key)
	}
	return blk.slab()
}

// Valid reports whether s holds a block.
func (s *Slab) Valid() bool { return s.b != nil }

// Bytes returns the whole block, borrowed until Release.
//
// It panics for an empty Slab as a nil pointer does, without words: with them readers over
// connections that wait would need more than the 2 KiB of a goroutine's first stack.
func (s *Slab) Bytes() []byte { return s.b.data }

// Cut returns n bytes from offset i of the block, retained by the caller.
func (s *Slab) Cut(i, n int) Buf {
	c := s.c
	if c == nil {
		panicNoBlock("Cut")
	}
	w := c.word.Load()
	if w&liveMask != 0 || w >= lastGen<<genShift || s.b.track != nil || uint(i) > uint(len(s.b.data)) || uint(n) > uint(len(s.b.data)-i) {
		return s.cutSlow(i, n)
	}
	key := w&genMask + firstKey
	c.data = s.b.data[i : i+n : i+n]
	sys.StoreRelaxed64(&c.word, key+issuedOne)
	return Buf{c, key}
}

//go:noinline
func (s *Slab) cutSlow(i, n int) Buf {
	c, gen := s.take(i, n, 1)
	return c.watched(gen | 1)
}

// CutFor fills dst with references to n bytes from offset i, retained: one for
// each of so many holders. What dst held is overwritten, not released.
func (s *Slab) CutFor(dst []Buf, i, n int) {
	if s.b == nil {
		panicNoBlock("CutFor")
	}
	for len(dst) > maxHolders {
		c, gen := s.take(i, n, maxHolders)
		c.fill(dst[:maxHolders], gen, 0)
		dst = dst[maxHolders:]
	}
	if len(dst) > 0 {
		c, gen := s.take(i, n, len(dst))
		c.fill(dst, gen, 0)
	}
}

// take puts the next free cell to use for holders of n bytes from i, and
// returns it with its generation.
func (s *Slab) take(i, n, holders int) (*cell, uint64) {
	b := s.b
	if i < 0 || n < 0 || i > len(b.data)-n {
		panicCut(i, n, len(b.data))
	}
	c := s.c
	w := c.word.Load()
	for w&liveMask != 0 || w >= lastGen<<genShift {
		if c.next == nil {
			b.addCells(c.index + 1)
		}
		c = c.next
		w = c.word.Load()
	}
	s.c = c
	c.data = b.data[i : i+n : i+n]
	c.tracked = b.track != nil && b.track.tokens
	gen := w&genMask + genOne
	sys.StoreRelaxed64(&c.word, wordOf(gen, holders))
	return c, gen
}

//go:noinline
func panicNoBlock(op string) {
	panic("mem: Slab." + op + ": the Slab is zero or was released")
}

//go:noinline
func panicCut(i, n, length int) {
	panic(fmt.Sprintf("mem: Slab.Cut(%d, %d) of %d bytes", i, n, length))
}

// Shared reports whether a part of the block has another holder. Cuts after it use the
// counts of those that were released last, so that a filler that calls it now and then has
// no more of them than parts are held.
func (s *Slab) Shared() bool {
	if s.c == nil {
		panicNoBlock("Shared")
	}
	return s.shared()
}

// shared is Shared of a Slab that holds a block. It is inlined where the stack is at its
// deepest.
func (s *Slab) shared() bool {
	c := s.c
	for c.word.Load()&liveMask == 0 {
		if c.index == 0 {
			return false
		}
		c = s.b.cell(c.index - 1)
		s.c = c
	}
	return true
}

// Release lets the block go and empties s. Bufs cut from it live on.
func (s *Slab) Release() {
	b := s.b
	if b == nil {
		panicNoBlock("Release")
	}
	// The usual case, inlined: no part of a pooled block is held. Readers call
	// this when the stack is at its deepest.
	if h := b.home; h != nil && !h.heap && b.track == nil && len(b.more) <= keepChunks && !s.shared() {
		if w := b.own.word.Load(); w < lastGen<<genShift {
			*s = Slab{}
			b.own.kind = whole
			sys.StoreRelaxed64(&b.own.word, w&genMask+first)
			b.gauge.markFreed()
			if h.flags.Load()&flagsBack == 0 {
				h.pool.Put(b)
			} else {
				h.takeBack(b)
			}
			return
		}
	}
	s.end()
}

func (s *Slab) end() {
	b := s.b
	if b.track != nil && b.track.tokens {
		b.track.endFilling()
	}
	if !s.shared() {
		*s = Slab{}
		b.endCutting()
		return
	}
	if b.gauge != nil {
		b.gauge.markLoose()
	}
	c := s.c
	*s = Slab{}
	b.detach(c)
}

// park releases s and returns what unpark needs.
func (s *Slab) park() hooks.Parked {
	b := s.b
	if b == nil {
		panicNoBlock("park")
	}
	var p hooks.Parked
	if b.gauge != nil && s.shared() {
		if b.self == nil {
			b.self = weak.Make(b)
		}
		p = hooks.Parked{Block: b.self, Took: b.gauge.gets()}
	}
	s.end()
	return p
}

// unpark returns the block to its filler if others have held it without a
// break since park. Otherwise the Slab is not Valid.
func unpark(p hooks.Parked) Slab {
	self, _ := p.Block.(weak.Pointer[block])
	b := self.Value()
	if b == nil {
		return Slab{}
	}
	i, ok := b.reattach(p.Took)
	if !ok {
		return Slab{}
	}
	b.gauge.markHeld()
	if t := b.track; t != nil && t.tokens {
		t.add(token{})
	}
	return Slab{b, b.cell(i)}
}
