package window

import "github.com/sluice-go/sluice/mem"

// Slide moves what must stay to the beginning of the front's own block, which
// must not be shared.
func (w *Window) Slide() {
	base := w.base()
	w.forget()
	copy(w.Buf, w.Buf[base:w.W])
	w.rebase(base, 0)
}

// Move moves what must stay into s, transferred, at place at: it is the
// front's block from then on and may be filled up to length.
func (w *Window) Move(s mem.Slab, at, length int) {
	base := w.base()
	p := s.Bytes()[:length]
	copy(p[at:], w.Buf[base:w.W])
	w.forget()
	w.letGo()
	w.slab, w.own, w.Buf = s, true, p
	w.rebase(base, at)
}

// rebase sets all places after the bytes from base on were moved to at.
func (w *Window) rebase(base, at int) {
	by := base - at
	if w.fixed == w.R {
		w.fixed -= by
	} else {
		w.fixed = -1
	}
	if w.mark >= 0 {
		w.mark = at
	}
	w.R, w.W, w.low = w.R-by, w.W-by, at
	w.start += int64(by)
}

// forget keeps the last consumed byte for Unread before the bytes under the
// front go away.
func (w *Window) forget() {
	if base := w.base(); base > w.low {
		w.lastByte = int16(w.Buf[base-1])
	}
}

// letGo releases the front's memory.
func (w *Window) letGo() {
	if w.slab.Valid() {
		w.slab.Release()
	} else if w.rest != nil && w.rest.hold.Valid() {
		w.rest.hold.Release()
	}
	w.own, w.Buf = false, nil
}

// dropFront drops the front and its bytes, as if they had been consumed.
func (w *Window) dropFront() {
	w.R = max(w.R, w.W)
	w.forget()
	w.letGo()
	w.rebase(w.W, 0)
}

// Vacate gives up the memory of a front that has no bytes to keep.
func (w *Window) Vacate() {
	if w.slab.Valid() || len(w.Buf) > 0 {
		w.dropFront()
	}
}

// Empty is Vacate of a block that is not shared.
func (w *Window) Empty() {
	w.forget()
	if w.slab.Valid() {
		w.slab.Release()
	}
	w.own, w.Buf = false, nil
	w.rebase(w.W, 0)
}

// Begin makes s, transferred, the block of a front that has nothing in it, and
// returns its memory up to length.
func (w *Window) Begin(s mem.Slab, length int) []byte {
	w.slab, w.own, w.Buf = s, true, s.Bytes()[:length]
	return w.Buf
}

// Slab is the block under the front, for the reader's shortest paths: they cut
// from R and move it. It is not Valid where there is none, and where others
// hold the memory too: there Cut is the way.
func (w *Window) Slab() *mem.Slab { return &w.slab }

// Holds reports whether there is memory under the front, with bytes or without.
func (w *Window) Holds() bool {
	return w.slab.Valid() || w.rest != nil && w.rest.hold.Valid()
}

// Cut returns n bytes of the front, whose memory there must be, retained, and
// consumes them.
func (w *Window) Cut(n int) mem.Buf {
	r := w.R
	w.R = r + n
	if !w.slab.Valid() {
		return w.rest.hold.RetainedSlice(r, r+n)
	}
	return w.slab.Cut(r, n)
}

// CutFor fills dst with references to n bytes of the front, at least one,
// retained, and consumes them.
func (w *Window) CutFor(dst []mem.Buf, n int) {
	if len(dst) == 0 {
		w.R += n
		return
	}
	if !w.slab.Valid() {
		dst[0] = w.Cut(n)
		dst[0].Share(dst[1:])
		return
	}
	w.slab.CutFor(dst, w.R, n)
	w.R += n
}

// Park gives up the memory of a front that has no bytes to keep. If others
// keep its block alive and room bytes of it are free, Unpark may get it back.
func (w *Window) Park(room int) {
	if !w.parkable(room) {
		w.Vacate()
		return
	}
	w.forget()
	w.park()
	w.rebase(w.W, 0)
}

// Stash moves what must stay into s, transferred, and gives up the front's
// memory as Park does.
func (w *Window) Stash(s mem.Slab, room int) {
	if !w.parkable(room) {
		w.Move(s, 0, len(s.Bytes()))
		return
	}
	base := w.base()
	copy(s.Bytes(), w.Buf[base:w.W])
	w.forget()
	w.park()
	w.slab, w.own, w.Buf = s, true, s.Bytes()
	w.rebase(base, 0)
}

func (w *Window) parkable(room int) bool {
	return w.own && len(w.Buf)-w.W >= room && w.slab.Shared()
}

func (w *Window) park() {
	x := w.more()
	x.parkedAt, x.parkedLen = w.W, len(w.Buf)
	x.parked = park(&w.slab)
	w.own, w.Buf = false, nil
}

// Unpark makes the block that was parked the front's if it is still alive and
// has room for need bytes, those that must stay among them. It reports whether
// it did.
func (w *Window) Unpark(need int) bool {
	x := w.rest
	if x == nil || x.parkedAt == 0 {
		return false
	}
	at, length := x.parkedAt, x.parkedLen
	x.parkedAt = 0
	if length-at < need {
		return false
	}
	s := unpark(x.parked)
	if !s.Valid() {
		return false
	}
	w.Move(s, at, length)
	return true
}
