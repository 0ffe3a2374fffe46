package window

import "github.com/sluice-go/sluice/mem"

// maxHead is the longest Head: a varint of 64 bits.
const maxHead = 10

// A Head is a few bytes that were consumed on approval: what follows them may
// not come, and then they are put back.
type Head struct {
	bytes  [maxHead]byte
	n      int
	before int16 // the byte before them, -1 when unknown
	fixed  bool  // Unread was refused there
}

// TakeHead consumes n bytes of the front, at most 10, and keeps them in h.
func (w *Window) TakeHead(h *Head, n int) {
	h.n = copy(h.bytes[:n], w.Buf[w.R:w.W])
	h.fixed = w.fixed == w.R
	h.before = w.lastByte
	if w.R > w.low {
		h.before = int16(w.Buf[w.R-1])
	}
	w.R += n
}

// PutBack puts h, the latest bytes that were consumed, before the front, and
// reports whether there was room for it: where the memory still has them, and
// in a block that is not shared.
func (w *Window) PutBack(h *Head) bool {
	switch {
	case w.R-w.low >= h.n:
		// A mark keeps them here.
		w.R -= h.n
		w.refuse(h)
		return true
	case !w.own || len(w.Buf)-(w.W-w.R) < h.n || w.Shared():
		return false
	}
	if by := h.n - w.R; by > 0 {
		copy(w.Buf[h.n:], w.Buf[w.R:w.W])
		w.R, w.W = h.n, w.W+by
		w.start -= int64(by)
	}
	w.prepend(h)
	return true
}

// PrependHead is PutBack by moving the front into s, transferred, which has
// room for h before it.
func (w *Window) PrependHead(h *Head, s mem.Slab) {
	w.Move(s, h.n, len(s.Bytes()))
	w.prepend(h)
}

// prepend writes h into the room before the front.
func (w *Window) prepend(h *Head) {
	w.R -= h.n
	copy(w.Buf[w.R:], h.bytes[:h.n])
	w.low, w.lastByte = w.R, h.before
	w.refuse(h)
}

// refuse restores what Unread may do.
func (w *Window) refuse(h *Head) {
	w.fixed = -1
	if h.fixed {
		w.fixed = w.R
	}
}
