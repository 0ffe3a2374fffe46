package mem

import (
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/sys"
)

// A cell counts the holders of one stretch of a block. Its state is one atomic
// word:
//
//	bits 63..37  generation: the number of this use of the cell, from 1
//	bits 36..32  issued: how many holder bits this use has handed out
//	bits 31..18  children: cells that hold a part of this one
//	bits 17..0   holders: one bit for each reference
//
//	in use  holders or children are not 0
//	free    both are 0; an old Buf finds its bit clear, or another generation
//	dead    0: a block that was dropped, wrapped memory given back
//
// A bit is handed out once in a generation and never again. So a copy of a Buf
// that is released after its original finds its bit clear and is refused,
// no matter who holds the stretch by then. When the bits are used up, further
// references go to children, which are cells of their own: see overflow.
//
// Every change is a compare-and-swap against a word that was looked at first:
// a call that is refused has changed nothing.
//
// A cell fills a cache line, so that two processors that hold neighbouring
// frames of one block do not meet.
type cell struct {
	word   atomic.Uint64
	block  *block
	parent *cell  // of a child; of the others see overflow
	data   []byte // the stretch; its capacity is its length
	index  uint32 // of a cut cell: its place in the block
	kind   uint8
	// tracked sends every call through the leak kit.
	tracked bool
	next    *cell // of a cut cell: the one of the next place, or nil; of an annex: the full cell
}

// What a cell is.
const (
	// whole is the block's own cell while the block is handed out as one Buf:
	// the last release sends the block home.
	whole = iota
	// single is whole of a block that no pool takes back: wrapped memory, and
	// what is larger than the classes.
	single
	// cut cells belong to a Slab's block: see witness.
	cut
	// child cells hold a part of their parent, and come from a pool.
	child
	// annex is a child that holds nothing but children: see annexes.
	annex
)

const (
	maxHolders  = 18
	holderMask  = 1<<maxHolders - 1
	childShift  = maxHolders
	childOne    = 1 << childShift
	maxChildren = 1<<(32-childShift) - 1 // further ones go to an annex
	liveMask    = 1<<32 - 1
	issuedShift = 32
	issuedOne   = 1 << issuedShift
	issuedMask  = 31 << issuedShift
	genShift    = 37
	genOne      = 1 << genShift
	genMask     = 1<<64 - 1<<genShift
	lastGen     = 1<<(64-genShift) - 1
)

// first is the word of a cell in its first use, with one holder.
const first = genOne | issuedOne | 1

// firstKey is the key of that holder.
const firstKey = genOne | 1

// stale reports whether word has no reference for key: the generation differs
// or the holder's bit is clear.
func stale(word, key uint64) bool { return (word^key)&(genMask|key) != 0 }

// childCells are free child cells. They keep their generation.
var childCells = sync.Pool{New: func() any { return new(cell) }}

// wordOf returns the word of n holders, the first ones of a generation.
func wordOf(gen uint64, n int) uint64 { return gen | uint64(n)<<issuedShift | 1<<n - 1 }

// retain adds a holder on behalf of the holder of key, or panics
// and has changed nothing.
func (c *cell) retain(key uint64, op string) Buf {
	for {
		w := c.word.Load()
		if stale(w, key) {
			panicStale(op, c, key)
		}
		issued := w & issuedMask >> issuedShift
		if issued == maxHolders {
			k, gen, bit, _ := c.further(key, 1, op)
			return k.watched(gen | 1<<bit)
		}
		if c.word.CompareAndSwap(w, (w+issuedOne)|1<<issued) {
			return c.watched(w&genMask | 1<<issued)
		}
	}
}

// share fills dst with references on behalf of the holder of key.
func (c *cell) share(key uint64, dst []Buf, op string) {
	for {
		w := c.word.Load()
		if stale(w, key) {
			panicStale(op, c, key)
		}
		issued := int(w & issuedMask >> issuedShift)
		n := min(len(dst), maxHolders-issued)
		if n == 0 {
			break
		}
		if !c.word.CompareAndSwap(w, (w+uint64(n)*issuedOne)|(1<<n-1)<<issued) {
			continue
		}
		c.fill(dst[:n], w&genMask, issued)
		dst = dst[n:]
		break
	}
	for len(dst) > 0 {
		n := min(len(dst), maxHolders)
		if n < maxHolders/2 {
			k, gen, bit, got := c.further(key, n, op)
			k.fill(dst[:got], gen, bit)
			dst = dst[got:]
			continue
		}
		k := c.newChild(key, c.data, n, op)
		k.fill(dst[:n], k.word.Load()&genMask, 0)
		dst = dst[n:]
	}
}

// fill makes dst the holders from bit on, which are issued already.
func (c *cell) fill(dst []Buf, gen uint64, bit int) {
	if c.tracked {
		for i := range dst {
			dst[i] = c.watched(gen | 1<<(bit+i))
		}
		return
	}
	key := uint64(1) << bit
	for i := range dst {
		dst[i] = Buf{c, gen | key}
		key <<= 1
	}
}

// first returns the only holder of a new child.
func (c *cell) first() Buf { return c.watched(c.word.Load()&genMask | 1) }

// newChild makes a cell with n holders of data, a part of c's, on behalf of the
// holder of key.
func (c *cell) newChild(key uint64, data []byte, n int, op string) *cell {
	parent := c
	for {
		w := c.word.Load()
		if stale(w, key) {
			panicStale(op, c, key)
		}
		if childrenOf(w) >= maxChildren-1 {
			parent = c.takeAnnexed(key, op)
			break
		}
		if c.word.CompareAndSwap(w, w+childOne) {
			break
		}
	}
	k := childCells.Get().(*cell)
	gen := k.word.Load()&genMask + genOne
	k.block, k.parent, k.data = c.block, parent, data
	k.kind, k.tracked = child, c.tracked
	// No other goroutine can reach k yet.
	sys.StoreRelaxed64(&k.word, wordOf(gen, n))
	return k
}

// release ends the reference of key, or panics and has changed nothing.
func (c *cell) release(key uint64, op string) {
	for {
		w := c.word.Load()
		if stale(w, key) {
			panicStale(op, c, key)
		}
		if c.leave(w, w-uint64(uint32(key))) {
			return
		}
	}
}

// releaseChild ends the hold of a child.
func (c *cell) releaseChild() {
	for {
		w := c.word.Load()
		if c.leave(w, w-childOne) {
			return
		}
	}
}

// leaveToChildren is leave where children remain, but no holder.
func (c *cell) leaveToChildren(w, remains uint64) bool {
	if w&holderMask == 0 {
		return c.word.CompareAndSwap(w, remains) // a child left
	}
	// Read before: without an overflow nothing keeps c from here on.
	k := c.overflow().Load()
	if !c.word.CompareAndSwap(w, remains) {
		return false
	}
	if k != nil {
		c.endOverflow(k)
	}
	return true
}

// leave replaces w, just read, by what remains after a holder left, and ends
// the cell's use when no holder remains. It reports false when the word has
// changed meanwhile.
func (c *cell) leave(w, remains uint64) bool {
	switch {
	case remains&liveMask != 0:
		if remains&holderMask != 0 {
			return c.word.CompareAndSwap(w, remains)
		}
		if g := c.block.gauge; g != nil {
			g.markPartLoose(len(c.data))
		}
		return c.leaveToChildren(w, remains)
	case c.kind <= single:
		b := c.block
		next := b.idleWord(w)
		if !c.word.CompareAndSwap(w, next) {
			return false
		}
		b.goHome(next)
	case c.kind == cut:
		// Read before the filler may use the cell again.
		b, me := c.block, witnessOf(w, c.index)
		if !c.word.CompareAndSwap(w, remains&genMask) {
			return false
		}
		if b.witness.Load() == me {
			b.handOver(me)
		}
	default:
		if !c.word.CompareAndSwap(w, remains&genMask) {
			return false
		}
		if c.kind == annex {
			c.endAnnex()
		}
		parent := c.parent
		c.block, c.parent, c.data = nil, nil, nil
		if w>>genShift < lastGen {
			childCells.Put(c)
		}
		parent.releaseChild()
	}
	return true
}
