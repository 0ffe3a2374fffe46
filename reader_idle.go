package sluice

import "io"

// memory is the reader as the raw source sees it: a source.Memory.
type memory BufReader

// Conn returns what the reader reads from.
func (m *memory) Conn() io.Reader { return m.src }

// Drop gives memory back before a wait.
func (m *memory) Drop() {
	b := (*BufReader)(m)
	if w := &b.win; b.after == 0 || w.R != w.W || w.Shared() {
		b.after = 0
		b.idle()
	} else {
		w.Empty()
	}
	b.beginIdle()
}

// Take returns memory to read into after a wait, or nil when that takes more
// than a cached block.
func (m *memory) Take() []byte {
	b := (*BufReader)(m)
	if b.after == 0 || b.kind != raw || b.win.Parked() {
		return nil
	}
	s := cachedSlab(b.alloc, int(b.after))
	if !s.Valid() {
		return nil
	}
	return b.win.Begin(s, b.size.Length(len(s.Bytes()), int(b.after)))
}

// idle gives back the memory that a wait does not need: all of it when nothing
// is buffered, most of it when only a few bytes are.
func (b *BufReader) idle() {
	w := &b.win
	if w.Gathering() {
		w.Spare()
		return
	}
	length, own := w.Block()
	switch kept := w.Kept(); {
	case !own:
	case kept == 0:
		w.Park(b.size.WorthParking())
	case b.size.Little(kept, length):
		b.stash(kept)
	}
}

// stash moves what must stay into the smallest block that holds it. It does not
// ask the budget, because it gives more memory back than it takes.
func (b *BufReader) stash(kept int) {
	b.win.Stash(b.alloc.Slab(kept), b.size.WorthParking())
}
