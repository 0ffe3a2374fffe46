package window

import "bytes"

// Content returns a copy of all bytes that were received and not consumed.
func (w *Window) Content() []byte {
	p := bytes.Clone(w.View())
	if x := w.rest; x != nil {
		for _, q := range x.pieces[x.head:] {
			p = append(p, q.buf[q.r:q.w]...)
		}
	}
	return p
}

// Records returns how many records of pieces there is memory for.
func (w *Window) Records() int {
	if w.rest == nil {
		return 0
	}
	return cap(w.rest.pieces)
}

// EmptyPieces returns how many of the pieces but the last have no bytes.
func (w *Window) EmptyPieces() (n int) {
	if x := w.rest; x != nil {
		for i := x.head; i < len(x.pieces)-1; i++ {
			if x.pieces[i].r == x.pieces[i].w {
				n++
			}
		}
	}
	return n
}

// LastIsEmpty reports whether the last piece is a block that nothing was read
// into.
func (w *Window) LastIsEmpty() bool {
	p := w.last()
	return p != nil && p.w == p.r
}
