package window

import "github.com/sluice-go/sluice/mem"

// maxHead is the longest Head: a varint of 64 bits.
const maxHead = 10

// A Head is a few bytes that were consumed on approval: what follows them may
// not come, and then they are put back.
type Head struct {
	bytes  [maxHead]byte
	n      uint8
	before int16 // the byte before them, -1 when unknown
	fixed  bool  // Unread was refused there
}

// Len returns the number of bytes.
func (h *Head) Len() int { return int(h.n) }

// TakeHead consumes n bytes of the front, at most 10, and keeps them in h.
func (w *Window) TakeHead(h *Head, n int) {
	h.n = uint8(copy(h.bytes[:n], w.Buf[w.R:w.W]))
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
	n := h.Len()
	switch {
	case w.R-w.low >= n:
		// A mark keeps them here.
		w.R -= n
		w.refuse(h)
		return true
	case !w.own || len(w.Buf)-(w.W-w.R) < n || w.Shared():
		return false
	}
	if by := n - w.R; by > 0 {
		copy(w.Buf[n:], w.Buf[w.R:w.W])
		w.R, w.W = n, w.W+by
		w.start -= int64(by)
	}
	w.prepend(h)
	return true
}

// PrependHead is PutBack by moving the front into s, transferred, which has
// room for h before it.
func (w *Window) PrependHead(h *Head, s mem.Slab) {
	w.Move(s, h.Len(), len(s.Bytes()))
	w.prepend(h)
}

// prepend writes h into the room before the front.
func (w *Window) prepend(h *Head) {
	w.R -= h.Len()
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
