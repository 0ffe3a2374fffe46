package mem

import (
	"fmt"
	"math"
)

// Buf is a contiguous, reference-counted stretch of a block: a small value
// that stands for one reference. Whoever holds it calls Release once.
//
// A Buf is moved, not copied: after b2 := b1 both stand for the same single
// reference. Every method of a Buf whose checkout has ended panics, in every
// build, and a refused call has changed nothing. What cannot be seen: while
// the block lives on because others hold it, releasing a copy takes away
// somebody else's reference (LeakTrace and LeakParanoid give each reference a
// token and name the line that did it); and a []byte that was taken out of a
// Buf is plain memory, which LeakParanoid poisons when its block comes home.
//
// The bytes may be read by all holders at once. They may be written only by
// one who knows that nobody else holds them: after Get, before Retain.
// Different Bufs of one block may be used by different goroutines; one Buf
// variable by one at a time.
type Buf struct {
	b *block
	// key is the generation in the upper half, and in the lower the token of
	// this reference when the leak kit gives tokens.
	key uint64
	// Four fields: a fifth would keep the struct out of registers.
	off, n uint32
}

// maxBuf is the longest Buf: lengths and offsets are 32 bits wide, and int
// too where int is.
const maxBuf = min(math.MaxUint32, math.MaxInt)

// Bytes returns the bytes, borrowed until b is released. Its capacity is its
// length, so that append cannot write into a neighbour's bytes.
func (b Buf) Bytes() []byte {
	blk := b.b
	if blk == nil || (blk.word.Load()^b.key)>>genShift != 0 {
		panic("mem: Buf.Bytes: the Buf is empty or was released")
	}
	return blk.data[b.off : b.off+b.n : b.off+b.n]
}

// Len returns the number of bytes.
func (b Buf) Len() int {
	if b.b == nil || (b.b.word.Load()^b.key)>>genShift != 0 {
		panic("mem: Buf.Len: the Buf is empty or was released")
	}
	return int(b.n)
}

// Valid reports whether b stands for a reference: it is neither the zero Buf
// nor released, nor a copy whose checkout has ended.
func (b Buf) Valid() bool {
	if b.b == nil {
		return false
	}
	w := b.b.word.Load()
	return (w^b.key)>>genShift == 0 && w&refMask != 0
}

// Slice returns bytes i up to j, borrowed until b is released.
func (b Buf) Slice(i, j int) []byte {
	b.bound("Buf.Slice", i, j)
	p := b.Bytes()
	return p[i:j:j]
}

// Retain returns a second reference to the same bytes, retained: it lives as
// long as its own Release is not called, whatever becomes of b.
func (b Buf) Retain() Buf {
	b.live("Buf.Retain")
	b.b.retain(b.key, 1, "Buf.Retain")
	return Buf{b.b, b.b.token(b.key), b.off, b.n}
}

// RetainedSlice returns bytes i up to j as a reference of its own, retained.
// It keeps the whole block: see Compact.
func (b Buf) RetainedSlice(i, j int) Buf {
	b.bound("Buf.RetainedSlice", i, j)
	b.b.retain(b.key, 1, "Buf.RetainedSlice")
	if b.b.gauge != nil {
		b.b.gauge.markCut(j - i)
	}
	return Buf{b.b, b.b.token(b.key), b.off + uint32(i), uint32(j - i)}
}

// Share fills dst with retained references to the same bytes, one for each
// receiver of a fan-out, for the price of one atomic operation. What dst held
// is overwritten, not released.
func (b Buf) Share(dst []Buf) {
	b.live("Buf.Share")
	if len(dst) == 0 {
		return
	}
	if uint64(len(dst)) > maxRefs {
		panicRefs("Buf.Share", 1, maxRefs)
	}
	b.b.retain(b.key, uint32(len(dst)), "Buf.Share")
	if b.b.track != nil {
		for i := range dst {
			dst[i] = Buf{b.b, b.b.token(b.key), b.off, b.n}
		}
		return
	}
	for i := range dst {
		dst[i] = Buf{b.b, b.key, b.off, b.n}
	}
}

// Release ends this reference and empties the variable, so that a second
// Release finds nothing and panics. The last Release of a block sends it back
// to the allocator that it came from, from any goroutine.
func (b *Buf) Release() {
	blk := b.b
	if blk == nil {
		panicStale("Buf.Release", nil, 0)
	}
	w := blk.word.Load()
	// The usual ends, spelled out for plain blocks. Their Bufs have no tokens,
	// so that what is left of the word without the key is the references.
	if refs := w ^ b.key; blk.plain && refs <= maxRefs {
		switch {
		case refs > 1 && blk.gauge.cut.Load() != uint32(w>>genShift):
			if blk.word.CompareAndSwap(w, w-1) {
				b.b = nil
				return
			}
		case refs == 1 && w < lastGen<<genShift:
			blk.gauge.markFreed(w)
			if blk.word.CompareAndSwap(w, w+genOne) {
				b.b = nil
				if c := blk.home; c.flags.Load()&flagsBack == 0 {
					c.pool.Put(blk)
				} else {
					c.takeBack(blk)
				}
				return
			}
			blk.notFreed(w)
		}
	}
	b.releaseSlow()
}

func (b *Buf) releaseSlow() {
	blk := b.b
	if blk.track != nil {
		w := blk.word.Load()
		if (w^b.key)>>genShift != 0 || w&refMask == 0 {
			panicStale("Buf.Release", blk, b.key)
		}
		blk.track.drop(b.key, "Buf.Release")
	}
	if blk.gauge != nil {
		blk.gauge.markPartLoose(int(b.n))
	}
	blk.drop(b.key, 1, "Buf.Release")
	b.b = nil
}

// Compact moves the bytes into a smaller block of the same allocator when
// they keep a large one, and reports whether it did. The rule: the block is
// at least 4 KiB and at least eight times what is kept, so that a kept byte
// pins at most eight; for less, the copy costs more than the memory is worth.
// Bytes handed out earlier keep their old place and are borrowed no longer.
func (b *Buf) Compact() bool {
	b.live("Buf.Compact")
	if !worthCopying(len(b.b.data), int(b.n)) {
		return false
	}
	a := Default()
	if b.b.home != nil {
		a = b.b.home.alloc
	}
	small := a.Get(int(b.n))
	copy(small.Bytes(), b.Bytes())
	b.Release()
	*b = small //sluice:moved
	return true
}

func worthCopying(block, kept int) bool { return block >= 4096 && block/8 >= kept }

// live panics unless b is a reference.
func (b Buf) live(op string) {
	if b.b == nil || (b.b.word.Load()^b.key)>>genShift != 0 {
		panicStale(op, b.b, b.key)
	}
}

func (b Buf) bound(op string, i, j int) {
	b.live(op)
	if uint(i) > uint(j) || uint(j) > uint(b.n) {
		panic(fmt.Sprintf("mem: %s(%d, %d) of %d bytes", op, i, j, b.n))
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
	b.word.Store(genOne | 1)
	return Buf{b, genOne, 0, uint32(len(p))}
}

//go:noinline
func panicStale(op string, b *block, key uint64) {
	if b == nil {
		panic("mem: " + op + ": the Buf is empty or was released")
	}
	w := b.word.Load()
	if w>>genShift == key>>genShift {
		panic(fmt.Sprintf("mem: %s: the Buf was released (generation %d has %d references)", op, w>>genShift, w&refMask))
	}
	panic(fmt.Sprintf("mem: %s: the Buf was released (it is of generation %d, its block is at %d)", op, key>>genShift, w>>genShift))
}

func panicRefs(op string, refs uint64, n uint32) {
	panic(fmt.Sprintf("mem: %s: %d references and %d more, at most %d", op, refs, n, uint64(maxRefs)))
}
