package mem

import (
	"sync/atomic"
	"weak"
)

// A block is one stretch of memory that is handed out, counted and taken back
// as a whole. Its state is one atomic word:
//
//	bits 63..32  generation: the number of this checkout, from 1
//	bits 31..0   references
//
//	checked out  generation g, references >= 1
//	in the pool  generation g+1, references = 1 (the pool's own)
//	dead         0: dropped, wrapped memory given back
//
// The pool's reference becomes the first owner's, so Get changes nothing in
// the word. The last Release moves to the next generation and to the pool's
// reference in one compare-and-swap; from then on every Buf of the old
// generation is stale, and its methods panic before they change anything.
type block struct {
	word  atomic.Uint64
	data  []byte // all of it: len is the class's size; nil while Malloc has it out
	home  *class // nil: wrapped, not ours
	gauge *gauge // nil: wrapped
	plain bool   // of a pooled class and untracked: what Release decides quickly on
	track *track // the leak kit's record of this checkout, nil when untracked
	free  func() // wrapped memory's way home
	self  weak.Pointer[block]
	// memory is data's, once Malloc has handed it out; a cleanup watches it.
	memory weak.Pointer[byte]
}

const (
	refMask  = 1<<32 - 1
	maxRefs  = 1 << 31 // far below the carry into the generation
	genShift = 32
	genOne   = 1 << genShift
	genMask  = ^uint64(refMask)
	lastGen  = refMask
)

// retain adds n references on behalf of a holder of key, or panics and has
// changed nothing.
func (b *block) retain(key uint64, n uint32, op string) {
	for {
		w := b.word.Load()
		refs := w & refMask
		if (w^key)>>genShift != 0 || refs == 0 {
			panicStale(op, b, key)
		}
		if refs+uint64(n) > maxRefs {
			panicRefs(op, refs, n)
		}
		if b.word.CompareAndSwap(w, w+uint64(n)) {
			return
		}
	}
}

// tryRetain is retain for a holder who has let go and does not know whether
// the block lives on.
func (b *block) tryRetain(key uint64, n uint32) bool {
	for {
		w := b.word.Load()
		refs := w & refMask
		if (w^key)>>genShift != 0 || refs == 0 || refs+uint64(n) > maxRefs {
			return false
		}
		if b.word.CompareAndSwap(w, w+uint64(n)) {
			return true
		}
	}
}

// drop takes n references away on behalf of a holder of key, or panics and
// has changed nothing. Whoever takes the last sends the block home.
func (b *block) drop(key uint64, n uint32, op string) {
	for {
		w := b.word.Load()
		refs := w & refMask
		if (w^key)>>genShift != 0 || refs < uint64(n) {
			panicStale(op, b, key)
		}
		if refs > uint64(n) {
			if b.word.CompareAndSwap(w, w-uint64(n)) {
				return
			}
			continue
		}
		if b.finish(w) {
			return
		}
	}
}

// finish ends the checkout that w, just read, describes. It reports false
// when somebody changed the word meanwhile.
func (b *block) finish(w uint64) bool {
	c := b.home
	if c == nil || c.heap || w>>genShift == lastGen {
		// A generation that would wrap makes an old Buf valid again, so the
		// block is dropped; so are blocks that no pool holds. No Buf is of
		// generation 0.
		if !b.word.CompareAndSwap(w, 0) {
			return false
		}
		b.bury()
		return true
	}
	b.gauge.markFreed(w)
	if !b.word.CompareAndSwap(w, w&genMask+genOne+1) {
		b.notFreed(w)
		return false
	}
	c.takeBack(b)
	return true
}

// notFreed takes markFreed(w) back for a holder who found that he is not the
// last: a Slab was unparked meanwhile. He has not let go yet, so nobody else
// can have ended the checkout, unless his Buf is a stale copy and not his.
func (b *block) notFreed(w uint64) {
	if (b.word.Load()^w)>>genShift == 0 {
		b.gauge.markFreed(w - genOne)
	}
}

// bury lets go of a block that will not be used again.
func (b *block) bury() {
	b.endTrack()
	if b.home == nil {
		if b.free != nil {
			b.free()
		}
		return
	}
	if b.home.flags.Load()&flagPoison != 0 {
		b.home.alloc.quarantine.poison(b)
	}
	b.home.retire(b.gauge, true)
}
