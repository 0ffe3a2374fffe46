package window

import "github.com/sluice-go/sluice/mem"

// Mark keeps what follows from here on, until Rollback or Unmark.
func (w *Window) Mark() {
	w.mark = w.R
	// Unread must not go back behind it: what is there may be gone.
	w.fixed = w.R
}

// Marked reports whether a mark is set.
func (w *Window) Marked() bool { return w.mark >= 0 }

// Back goes back to the place of the mark and n bytes further.
func (w *Window) Back(n int) {
	w.R = w.mark + n
	w.fixed = w.R
}

// Unmark clears the mark.
func (w *Window) Unmark() { w.mark = -1 }

// Fix makes Unread fail until something is consumed.
func (w *Window) Fix() { w.fixed = w.R }

// An Unread answer says what it takes to go back by a byte.
type Unread int

// The answers of Unread.
const (
	Refused Unread = iota // no byte can be taken back
	Done                  // one was
	Gone                  // its memory is gone: Prepend puts it back
)

// Unread goes back by one consumed byte.
func (w *Window) Unread() Unread {
	switch {
	case w.R == w.fixed:
		return Refused
	case w.R > w.low:
		w.R--
		w.fixed = w.R
		return Done
	case w.lastByte < 0:
		return Refused
	}
	return Gone
}

// Prepend puts the last consumed byte before the front, whose memory does not
// have it, by moving the front into s, transferred, which has room for it.
func (w *Window) Prepend(s mem.Slab) {
	c := byte(w.lastByte)
	w.Move(s, 1, len(s.Bytes()))
	w.Buf[0] = c
	w.lastByte = -1
	w.R, w.low = 0, 0
	w.fixed = 0
}
