package mem

import (
	"fmt"
	"math"
)

// Buf is a contiguous, reference-counted stretch of a block: a small value
// that stands for one reference. Its holder calls Release once.
//
// A Buf is moved, not copied: after b2 := b1 both stand for the same single
// reference. Every method but Valid of a Buf whose reference has ended panics, in
// every build, also that of a copy while others hold the same bytes, and a refused
// call has changed nothing. A []byte that was taken out of a Buf cannot be
// checked: LeakParanoid poisons it when its block comes home.
//
// The zero Buf is no reference, and panics as one that has ended. A Buf of no bytes,
// as Get(0) and a reader of an empty frame return it, is a reference as others are.
//
// All holders may read the bytes at once. A holder may write them only while it
// is the only one: after Get or a reader's ReadBuf, before Retain.
// Different Bufs of one block may be used by different goroutines; one Buf
// variable by one at a time.
type Buf struct {
	c *cell
	// key is the generation of the cell's use and the bit of this holder.
	key uint64
}

// maxBuf is the longest Buf: lengths and offsets are 32 bits wide, and int
// too where int is.
const maxBuf = min(math.MaxUint32, math.MaxInt)

// Bytes returns the bytes, borrowed until b is released. Its capacity is its
// length, so that append cannot write into a neighbour's bytes.
func (b Buf) Bytes() []byte {
	c := b.c
	if c == nil || stale(c.word.Load(), b.key) {
		panic("mem: Buf.Bytes: the Buf is zero or was released")
	}
	return c.data
}

// Len returns the number of bytes.
func (b Buf) Len() int {
	if b.c == nil || stale(b.c.word.Load(), b.key) {
		panic("mem: Buf.Len: the Buf is zero or was released")
	}
	return len(b.c.data)
}

// Valid reports whether b stands for a reference: it is neither the zero Buf
// nor released, nor a copy of one that was.
func (b Buf) Valid() bool { return b.c != nil && !stale(b.c.word.Load(), b.key) }

// Retain returns a second reference to the same bytes, retained: it lives as
// long as its own Release is not called, whatever becomes of b.
func (b Buf) Retain() Buf {
	if b.c == nil {
		panicReleased("Retain")
	}
	return b.c.retain(b.key, "Buf.Retain")
}

// RetainedSlice returns bytes i up to j as a reference of its own, retained.
// It keeps the whole block: see Compact.
func (b Buf) RetainedSlice(i, j int) Buf {
	b.bound("Buf.RetainedSlice", i, j)
	c := b.c
	k := c.newChild(b.key, c.data[i:j:j], 1, "Buf.RetainedSlice")
	if c.block.gauge != nil {
		c.block.gauge.markCut(j - i)
	}
	return k.first()
}

// Share fills dst with retained references to the same bytes, one for each
// receiver of a fan-out, for the price of one atomic operation for every 18.
// What dst held is overwritten, not released.
func (b Buf) Share(dst []Buf) {
	b.live("Buf.Share")
	b.c.share(b.key, dst, "Buf.Share")
}

// Release ends this reference and empties the variable, so that a second
// Release finds nothing and panics. The last Release of a block sends it back
// to the allocator that it came from, from any goroutine.
func (b *Buf) Release() {
	c := b.c
	if c == nil {
		panicReleased("Release")
	}
	key := b.key
	w := c.word.Load()
	// The usual cases, inlined: another holder has the same bytes; or there is
	// none, and they were cut from a block or are all of a block.
	if remains := w - uint64(uint32(key)); !stale(w, key) && !c.tracked {
		switch {
		case remains&holderMask != 0:
			if c.word.CompareAndSwap(w, remains) {
				b.c = nil
				return
			}
		case remains&liveMask != 0:
		case c.kind == cut:
			blk, me := c.block, witnessOf(w, c.index)
			if c.word.CompareAndSwap(w, remains&genMask) {
				b.c = nil
				if blk.witness.Load() == me {
					blk.handOver(me)
				}
				return
			}
		case c.kind == whole && w < lastGen<<genShift:
			if c.word.CompareAndSwap(w, w&genMask+first) {
				b.c = nil
				blk := c.block
				blk.gauge.markFreed()
				if home := blk.home; home.flags.Load()&flagsBack == 0 {
					home.pool.Put(blk)
				} else {
					home.takeBack(blk)
				}
				return
			}
		}
	}
	b.releaseSlow()
}

//go:noinline
func (b *Buf) releaseSlow() {
	c := b.c
	if c.tracked {
		c.untrack(b.key)
	}
	c.release(b.key, "Buf.Release")
	b.c = nil
}

// Compact moves the bytes into a smaller block of the same allocator when
// they keep a large one, and reports whether it did. The rule: the block is
// at least 4 KiB and at least eight times what is kept, so that a kept byte
// pins at most eight; for less, the copy costs more than the memory is worth.
// Bytes handed out earlier keep their old place and are borrowed no longer.
func (b *Buf) Compact() bool {
	b.live("Buf.Compact")
	blk := b.c.block
	if !worthCopying(len(blk.data), len(b.c.data)) {
		return false
	}
	small := blk.allocator().Get(len(b.c.data))
	copy(small.Bytes(), b.Bytes())
	b.Release()
	*b = small //sluice:moved
	return true
}

// allocator returns where the block came from, or the default one for wrapped
// memory.
func (b *block) allocator() *Allocator {
	if b.home == nil {
		return Default()
	}
	return b.home.alloc
}

func worthCopying(block, kept int) bool { return block >= 4096 && block/8 >= kept }

// live panics unless b is a reference.
func (b Buf) live(op string) {
	if b.c == nil || stale(b.c.word.Load(), b.key) {
		panicStale(op, b.c, b.key)
	}
}

func (b Buf) bound(op string, i, j int) {
	b.live(op)
	if uint(i) > uint(j) || uint(j) > uint(len(b.c.data)) {
		panic(fmt.Sprintf("mem: %s(%d, %d) of %d bytes", op, i, j, len(b.c.data)))
	}
}

// Wrap makes a Buf of foreign bytes, transferred: the caller does not touch p
// afterwards, and free, when it is not nil, runs once after the last Release,
// on the goroutine that released. p may be at most 4 GiB - 1 long (2 GiB - 1
// where int has 32 bits).
func Wrap(p []byte, free func()) Buf {
	if len(p) > maxBuf {
		panic(fmt.Sprintf("mem: Wrap of %d bytes, at most %d", len(p), uint64(maxBuf)))
	}
	b := &block{data: p, free: free}
	b.own.block, b.own.kind, b.own.data = b, single, p[:len(p):len(p)]
	b.own.word.Store(first)
	return Buf{&b.own, firstKey}
}

// runsFree reports whether a function of the program may run when b is released.
func (b Buf) runsFree() bool { return b.c != nil && b.c.block.free != nil }

//go:noinline
func panicReleased(op string) {
	panic("mem: Buf." + op + ": the Buf is zero or was released")
}

//go:noinline
func panicStale(op string, c *cell, key uint64) {
	if c == nil {
		panic("mem: " + op + ": the Buf is zero or was released")
	}
	w := c.word.Load()
	if w>>genShift == key>>genShift {
		panic(fmt.Sprintf("mem: %s: the Buf was released: a copy of it was, and its bytes may be held by others", op))
	}
	panic(fmt.Sprintf("mem: %s: the Buf was released (it is of generation %d, its memory is at %d)", op, key>>genShift, w>>genShift))
}
