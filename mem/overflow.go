package mem

import (
	"sync/atomic"
	"unsafe"
)

// A cell hands out maxHolders references. Further ones come from its overflow, a
// child for all of its bytes, whose first holder is the cell itself: so the child
// stays while references come and go, and is replaced when it has handed out all
// of its own. The cell's last holder ends that hold.
//
//	cell -- 18 holders
//	  '---- overflow: the cell's hold, 17 holders
//	  '---- overflows before it: what is left of their 17 holders
//
// A goroutine that finds the overflow holds nothing of it yet, and it may be
// replaced, end and serve another cell at any moment. The rule that makes this
// safe: the place is changed first, and only then the hold ended. What still
// stands in its place after its word was read is of the use that the word names,
// or the compare-and-swap that follows fails.

// holdKey is the holder bit of the cell in its overflow.
const holdKey = 1

// overflow is where c keeps its overflow: a child in next, which only cut cells
// and annexes use otherwise, the others in parent.
func (c *cell) overflow() *atomic.Pointer[cell] {
	place := &c.parent
	if c.kind == child {
		place = &c.next
	}
	return (*atomic.Pointer[cell])(unsafe.Pointer(place))
}

// further hands out up to n references, fewer than maxHolders, when c has handed
// out all of its own, on behalf of the holder of key, or panics and has changed
// nothing. They are got holders of k from bit on.
func (c *cell) further(key uint64, n int, op string) (k *cell, gen uint64, bit, got int) {
	place := c.overflow()
	for {
		k := place.Load()
		if k == nil {
			return c.replaceOverflow(nil, key, n, op)
		}
		w := k.word.Load()
		if stale(c.word.Load(), key) {
			panicStale(op, c, key)
		}
		if w&holdKey == 0 || place.Load() != k {
			continue // it has been replaced
		}
		issued := int(w & issuedMask >> issuedShift)
		got := min(n, maxHolders-issued)
		if got == 0 {
			return c.replaceOverflow(k, key, n, op)
		}
		if k.word.CompareAndSwap(w, (w+uint64(got)*issuedOne)|(1<<got-1)<<issued) {
			return k, w & genMask, issued, got
		}
	}
}

// replaceOverflow puts a new overflow into the place of old and hands out its
// first n references.
func (c *cell) replaceOverflow(old *cell, key uint64, n int, op string) (k *cell, gen uint64, bit, got int) {
	k = c.newChild(key, c.data, n+1, op)
	gen = k.word.Load() & genMask
	if !c.overflow().CompareAndSwap(old, k) {
		k.release(gen|holdKey, op) // another goroutine was first
		return k, gen, 1, n
	}
	if old != nil {
		old.endHold()
	}
	if c.word.Load()&holderMask == 0 {
		c.endOverflow(k) // the holder of key was released meanwhile, by a copy
	}
	return k, gen, 1, n
}

// endOverflow ends the hold of c, which has no holders left, of its overflow k,
// unless that was done already.
func (c *cell) endOverflow(k *cell) {
	if c.overflow().CompareAndSwap(k, nil) {
		k.endHold()
	}
}

// endHold ends the hold that a cell had of c while it was its overflow.
func (c *cell) endHold() { c.release(c.word.Load()&genMask|holdKey, "Buf.Release") }
