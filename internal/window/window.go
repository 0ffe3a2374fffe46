package window

import (
	"github.com/sluice-go/sluice/internal/hooks"
	"github.com/sluice-go/sluice/mem"
)

var (
	slabOf = hooks.SlabOf.(func(mem.Buf) mem.Slab)
	park   = hooks.Park.(func(*mem.Slab) hooks.Parked)
	unpark = hooks.Unpark.(func(hooks.Parked) mem.Slab)
)

// A Window belongs to one goroutine at a time. Before use it is made empty by
// Init.
//
// The exported fields are for the reader's shortest paths, which look at the
// front, move R up to W, and W up to len(Buf) after filling Buf[W:].
type Window struct {
	// Buf[R:W] is the front. Buf[W:] may be filled; it is empty where the
	// memory has another owner.
	Buf  []byte
	R, W int
	mark int   // what is kept from here on, -1 without a mark
	rest *rest // nil while there is nothing in it
	own  bool  // the block is filled here: its memory can be used again

	lastByte int16    // the byte before low, -1 when unknown
	Limit    uint32   // the most bytes that the shortest paths take at once; the window has no limit
	slab     mem.Slab // the block under Buf
	start    int64    // place in the stream of Buf[0]
	low      int      // oldest consumed byte that is still in Buf
	fixed    int      // Unread is refused while R is here
}

// rest is what most windows do not need.
type rest struct {
	// hold is the front's Buf when others hold it too: there is no slab then,
	// and Buf is the Buf's bytes.
	hold mem.Buf

	pieces []piece // behind the front, from head on
	head   int
	queued int // bytes in them

	// parked is a block that was released while others held parts of it. Its
	// memory from parkedAt up to parkedLen is free; parkedAt 0 is no block.
	parked              hooks.Parked
	parkedAt, parkedLen int
}

// Init makes w the empty window at the beginning of a stream and releases all
// that it has.
func (w *Window) Init() {
	w.Drop()
	w.start = 0
	w.lastByte, w.low, w.fixed = -1, 0, 0
}

// Drop drops all bytes, as if they had been consumed; none of them can be taken
// back.
func (w *Window) Drop() {
	w.mark = -1
	w.dropFront()
	w.Fix()
	if w.rest == nil {
		return
	}
	for w.rest.queued > 0 || w.rest.head < len(w.rest.pieces) {
		p := w.rest.pop()
		w.start += int64(p.w - p.r)
		p.drop()
	}
	*w.rest = rest{}
}

// View returns the front, borrowed until the next change.
func (w *Window) View() []byte { return w.Buf[w.R:w.W:w.W] }

// Len returns the number of bytes received and not consumed.
func (w *Window) Len() int { return w.W - w.R + w.Queued() }

// Queued returns the number of bytes behind the front.
func (w *Window) Queued() int {
	if w.rest == nil {
		return 0
	}
	return w.rest.queued
}

// Received returns how many bytes have been received since Init.
func (w *Window) Received() int64 { return w.start + int64(w.W+w.Queued()) }

// Passed notes n bytes that were received and consumed without coming here;
// last is the last of them. Nothing may be buffered.
func (w *Window) Passed(n int64, last byte) {
	w.start += n
	w.lastByte, w.low, w.fixed = int16(last), w.R, -1
}

// PassedUnseen is Passed when the last byte is not known.
func (w *Window) PassedUnseen(n int64) {
	w.start += n
	w.lastByte, w.low, w.fixed = -1, w.R, w.R
}

// base is where the bytes of the front begin that must stay.
func (w *Window) base() int {
	if w.mark >= 0 {
		return w.mark
	}
	return w.R
}

// Kept returns how many bytes of the front must stay: those not consumed, and
// with a mark those behind it.
func (w *Window) Kept() int { return w.W - w.base() }

// Before returns how many consumed bytes a mark keeps.
func (w *Window) Before() int { return w.R - w.base() }

// Idle reports whether nothing is buffered and no mark is set.
func (w *Window) Idle() bool { return w.R == w.W && w.mark < 0 && w.Queued() == 0 }

// Block returns the length of the memory that the front may fill, and whether
// it is a block that is filled here. Without a block that is 0 and false.
func (w *Window) Block() (length int, own bool) { return len(w.Buf), w.own }

// Shared reports whether others hold parts of the front's block, which is not
// to be written over then.
func (w *Window) Shared() bool { return w.slab.Valid() && w.slab.Shared() }

// Fillable reports whether the front is all there is, in a block that is
// filled here, without a mark.
func (w *Window) Fillable() bool {
	return w.own && w.mark < 0 && (w.rest == nil || w.rest.head == len(w.rest.pieces))
}

// Gathering reports whether there are pieces behind the front, be it a block
// that nothing was read into yet.
func (w *Window) Gathering() bool { return w.rest != nil && w.rest.head < len(w.rest.pieces) }

// Parked reports whether there is a block that Unpark may get back.
func (w *Window) Parked() bool { return w.rest != nil && w.rest.parkedAt > 0 }

// Simple reports whether the front is all there is, without a mark.
func (w *Window) Simple() bool { return w.mark < 0 && !w.Gathering() }

// Capacity returns the bytes of memory that the window keeps from others: its
// blocks, and not what it was given with its bytes.
func (w *Window) Capacity() int {
	n := 0
	if w.own {
		n = len(w.slab.Bytes())
	}
	if w.rest != nil {
		for i := w.rest.head; i < len(w.rest.pieces); i++ {
			if p := &w.rest.pieces[i]; p.own {
				n += len(p.slab.Bytes())
			}
		}
	}
	return n
}

// more returns the rest, made when there is none.
func (w *Window) more() *rest {
	if w.rest == nil {
		w.rest = new(rest)
	}
	return w.rest
}
