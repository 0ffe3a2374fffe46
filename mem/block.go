package mem

import (
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/sys"
)

// A block is one stretch of memory that is handed out and taken back as a
// whole. It is out in one of two ways:
//
//   - as one Buf, which its own cell counts; the last release of that cell
//     sends the block home;
//   - as a Slab, whose filler cuts Bufs out of it. Each has a cell, the first
//     of them the block's own. Here the witness shows when no holder is left.
//
// In the pool the own cell has the next generation and one holder, the pool,
// whose reference becomes the first owner's: Get changes nothing in the word.
type block struct {
	own cell

	data    []byte        // all of it: len is the class's size; nil while Malloc has it out
	home    *class        // nil: wrapped, not ours
	gauge   *gauge        // nil: wrapped
	witness atomic.Uint64 // of a Slab's block: who sends it home, see handOver
	more    []*cellChunk  // cells 1 and up
	cellGen uint64        // generation that new cells begin with, so that none repeats
	track   *track        // the leak kit's record of this checkout, nil when untracked

	free func() // wrapped memory's way home
	self any    // a weak.Pointer[block], made when it is first parked
	// slice is the record of this block as plain memory, once Malloc has
	// handed it out.
	slice *slice
	_     [8]byte // to three cache lines, so that the own cell is in one
}

// A cellChunk is as many cells as a block gets at once. It keeps them, so that
// in steady state cutting allocates nothing. It is 512 bytes: longer objects
// with pointers have a header in Go's heap, which would put each cell in two
// cache lines.
type cellChunk [8]cell

// keepChunks bounds the cells that an idle block keeps, to as many bytes as
// the largest block that readers use has.
const keepChunks = 128

// dropCells drops all chunks but the first keep; no part of b is held.
func (b *block) dropCells(keep int) {
	for _, chunk := range b.more[keep:] {
		for i := range chunk {
			b.cellGen = max(b.cellGen, chunk[i].word.Load()&genMask)
		}
	}
	b.more = b.more[:keep:keep]
	b.cell(uint32(keep * len(cellChunk{}))).next = nil
}

// cell returns cell i, 0 being the block's own. Only the filler adds cells.
func (b *block) cell(i uint32) *cell {
	if i == 0 {
		return &b.own
	}
	i--
	return &b.more[i/uint32(len(cellChunk{}))][i%uint32(len(cellChunk{}))]
}

// addCells adds cells from i on, the first that does not exist.
func (b *block) addCells(i uint32) {
	chunk := new(cellChunk)
	for k := range chunk {
		chunk[k].word.Store(b.cellGen)
		chunk[k].block = b
		chunk[k].index = i + uint32(k)
		chunk[k].kind = cut
		if k > 0 {
			chunk[k-1].next = &chunk[k]
		}
	}
	b.cell(i - 1).next = &chunk[0]
	b.more = append(b.more, chunk)
}

// ownKind returns what the own cell is while b is not a Slab's.
func (b *block) ownKind() uint8 {
	if b.home == nil || b.home.heap {
		return single
	}
	return whole
}

// idleWord returns the own cell's word after the checkout of w has ended: the
// pool's reference, or 0 when the block is not used again.
func (b *block) idleWord(w uint64) uint64 {
	if b.ownKind() == single || w>>genShift >= lastGen {
		// No pool holds it, or the generation would wrap and make an old Buf
		// valid again. No Buf is of generation 0.
		return 0
	}
	return w&genMask + first
}

// goHome ends a checkout: no part of b is held, and the own cell has its idle
// word.
func (b *block) goHome(idle uint64) {
	if idle == 0 {
		b.bury()
		return
	}
	b.gauge.markFreed()
	if c := b.home; c.flags.Load()&flagsBack == 0 && b.track == nil {
		c.pool.Put(b)
	} else {
		c.takeBack(b)
	}
}

// endWhole is goHome for a block whose only holder, known to be alone, leaves.
func (b *block) endWhole() {
	idle := b.idleWord(b.own.word.Load())
	sys.StoreRelaxed64(&b.own.word, idle)
	b.goHome(idle)
}

// endCutting is goHome for a block that was a Slab's.
func (b *block) endCutting() {
	if len(b.more) > keepChunks {
		b.dropCells(1)
	}
	b.own.kind, b.own.tracked = b.ownKind(), b.track != nil
	b.endWhole()
}

// bury drops a block that will not be used again.
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
