package mem

// A Slab's block goes home when its filler and the holders of all cut cells
// are gone. A count of them would be one more word to change for each release,
// and all holders would contend for it. Instead one of the remaining owners
// is the block's witness, and only when the witness leaves does it look for
// another:
//
//	filling    the filler is the witness
//	detached   one cell in use is; its last holder looks for another cell in
//	           use among those before it, and makes that the witness
//	none       there is no other: the goroutine that found no other sends the
//	           block home
//
// Cells come into use by the filler alone, so that none does once the block
// is detached, and one that was found free stays free. The filler chooses the
// newest cell in use: where frames are released in the order in which they came,
// it is also the last, and no search is ever needed.
//
// A holder leaves its cell first and then looks at the witness. A goroutine that
// makes a cell the witness does that first and then looks at the cell. So at
// least one of the two sees the other, and if both do, one compare-and-swap
// decides. The witness is named with its generation, which makes it unique for
// ever.

// filling is the witness of a block that is being filled.
const filling = ^uint64(0)

// noWitness is the witness word of a block that is on its way home.
const noWitness = 0

// witnessOf names the use of cell index that word is of.
func witnessOf(word uint64, index uint32) uint64 {
	return word>>genShift<<32 | uint64(index)
}

// detach ends the filling of a block. Cell last, the newest in use, is still
// held.
func (b *block) detach(last *cell) {
	me := witnessOf(last.word.Load(), last.index)
	b.witness.Store(me)
	if !last.inUse(me) {
		b.handOver(me)
	}
}

// handOver looks for another witness than me, whose cell is free now.
func (b *block) handOver(me uint64) {
	for i := uint32(me); ; {
		next := uint64(noWitness)
		var c *cell
		for i > 0 {
			i--
			c = b.cell(i)
			if w := c.word.Load(); w&liveMask != 0 {
				next = witnessOf(w, i)
				break
			}
		}
		if !b.witness.CompareAndSwap(me, next) {
			return
		}
		if next == noWitness {
			b.endCutting()
			return
		}
		if c.inUse(next) {
			return
		}
		me = next
	}
}

// inUse reports whether the named use of c still goes on.
func (c *cell) inUse(name uint64) bool {
	w := c.word.Load()
	return w&liveMask != 0 && witnessOf(w, c.index) == name
}

// reattach makes a filler the witness again of a block that was detached in
// checkout took and is still alive. It returns the newest cell that may be in
// use.
func (b *block) reattach(took uint32) (uint32, bool) {
	for {
		w := b.witness.Load()
		if w == filling || w == noWitness || b.gauge.gets() != took {
			return 0, false
		}
		// The witness is unique: it is of the checkout that was looked at.
		if b.witness.CompareAndSwap(w, filling) {
			return uint32(w), true
		}
	}
}
