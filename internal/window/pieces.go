package window

import (
	"math"

	"github.com/sluice-go/sluice/mem"
)

// A piece is memory behind the front: a block that is filled here, or bytes
// that were given with their memory.
type piece struct {
	slab mem.Slab
	hold mem.Buf // instead of slab: a Buf that others hold too
	buf  []byte  // as Window.Buf
	r, w int
	own  bool
}

func (p *piece) drop() {
	if p.slab.Valid() {
		p.slab.Release()
	} else if p.hold.Valid() {
		p.hold.Release()
	}
	p.buf = nil
}

// AddBuf puts b, transferred, behind all bytes.
func (w *Window) AddBuf(b mem.Buf) {
	n := b.Len()
	if n == 0 {
		b.Release()
		return
	}
	p := piece{w: n}
	p.buf = b.Bytes()
	if p.slab = slabOf(b); !p.slab.Valid() {
		p.hold = b //sluice:moved
	}
	w.push(p)
}

// AddBytes puts p, transferred, behind all bytes.
func (w *Window) AddBytes(p []byte) {
	for len(p) > 0 {
		n := min(len(p), math.MaxInt32)
		w.AddBuf(mem.Wrap(p[:n:n], nil))
		p = p[n:]
	}
}

// AddBlock puts s, transferred, behind all bytes, to be filled up to length.
func (w *Window) AddBlock(s mem.Slab, length int) {
	w.push(piece{slab: s, buf: s.Bytes()[:length], own: true})
}

// push puts p at the end; where there is nothing else it is the front. Only
// the last piece may have no bytes.
func (w *Window) push(p piece) {
	w.Spare()
	x := w.more()
	x.pieces = append(x.pieces, p)
	x.queued += p.w - p.r
	w.Show()
}

// Show makes the first piece the front if that is empty.
func (w *Window) Show() {
	x := w.rest
	if x == nil || x.head == len(x.pieces) || w.R != w.W || w.mark >= 0 {
		return
	}
	w.dropFront()
	p := x.pop()
	at := w.fixed == w.R
	w.slab, w.own, w.Buf = p.slab, p.own, p.buf
	x.hold = p.hold //sluice:moved
	w.start -= int64(p.r)
	w.R, w.W, w.low = p.r, p.w, p.r
	if at {
		w.fixed = p.r
	} else {
		w.fixed = -1
	}
}

// pop takes the first piece out.
func (x *rest) pop() piece {
	p := x.pieces[x.head] //sluice:moved
	x.pieces[x.head] = piece{}
	x.queued -= p.w - p.r
	x.head++
	switch {
	case x.head == len(x.pieces):
		x.pieces, x.head = x.pieces[:0], 0
	case x.head >= 32 && x.head >= len(x.pieces)/2:
		// A queue that is never quite empty must not grow for ever.
		n := copy(x.pieces, x.pieces[x.head:])
		clear(x.pieces[n:])
		x.pieces, x.head = x.pieces[:n], 0
	}
	return p
}

// last returns the last piece, or nil.
func (w *Window) last() *piece {
	if w.rest == nil || w.rest.head == len(w.rest.pieces) {
		return nil
	}
	return &w.rest.pieces[len(w.rest.pieces)-1]
}

// Room returns the free memory behind the last byte, borrowed until the next
// change. It is empty where there is none, or where it is not ours to fill.
func (w *Window) Room() []byte {
	if p := w.last(); p != nil {
		return p.buf[p.w:]
	}
	return w.Buf[w.W:]
}

// Filled notes that n bytes of Room were filled.
func (w *Window) Filled(n int) {
	if p := w.last(); p != nil {
		p.w += n
		w.rest.queued += n
		return
	}
	w.W += n
}

// Unfill takes the latest n bytes back that were filled into Room, and gives up
// the pieces that have none left.
func (w *Window) Unfill(n int) {
	for n > 0 {
		p := w.last()
		if p == nil {
			w.W -= n
			return
		}
		k := min(n, p.w-p.r)
		w.Filled(-k)
		n -= k
		w.Spare()
	}
}

// Spare gives up the last piece if it is a block that nothing was read into.
func (w *Window) Spare() {
	if p := w.last(); p != nil && p.r == p.w {
		p.drop()
		x := w.rest
		x.pieces[len(x.pieces)-1] = piece{}
		x.pieces = x.pieces[:len(x.pieces)-1]
		if x.head == len(x.pieces) {
			x.pieces, x.head = x.pieces[:0], 0
		}
	}
}

// Join brings bytes of the pieces to the front, which has room for them, until
// it has n bytes or more. With a mark it takes what it can, so that the next
// Join is far.
func (w *Window) Join(n int) {
	x := w.rest
	for w.W-w.R < n {
		p := &x.pieces[x.head]
		most := n - (w.W - w.R)
		if w.mark >= 0 {
			most = len(w.Buf) - w.W
		}
		k := copy(w.Buf[w.W:], p.buf[p.r:min(p.w, p.r+most)])
		w.W += k
		p.r += k
		x.queued -= k
		if p.r == p.w {
			done := x.pop()
			done.drop()
		}
	}
}

// NextPiece returns the bytes of the first piece, borrowed until the next
// change.
func (w *Window) NextPiece() []byte {
	p := &w.rest.pieces[w.rest.head]
	return p.buf[p.r:p.w]
}

// Take moves the next n bytes to the end of m, in the pieces that they are in.
func (w *Window) Take(m *mem.Memory, n int) {
	for n > 0 {
		if w.R == w.W {
			w.Show()
		}
		k := min(n, w.W-w.R)
		m.Append(w.Cut(k))
		n -= k
	}
}
