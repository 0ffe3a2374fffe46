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

// PutBack puts h, the latest bytes that were consumed, before the front where
// the memory still has them, and reports whether it did.
func (w *Window) PutBack(h *Head) bool {
	if w.R-w.low < h.n {
		return false
	}
	w.R -= h.n
	w.putBack(h)
	return true
}

// PrependHead is PutBack by moving the front into s, transferred, which has
// room for h before it.
func (w *Window) PrependHead(h *Head, s mem.Slab) {
	w.Move(s, h.n, len(s.Bytes()))
	copy(w.Buf, h.bytes[:h.n])
	w.R, w.low = 0, 0
	w.lastByte = h.before
	w.putBack(h)
}

// putBack restores what Unread may do.
func (w *Window) putBack(h *Head) {
	w.fixed = -1
	if h.fixed {
		w.fixed = w.R
	}
}
