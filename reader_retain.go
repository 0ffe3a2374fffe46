package sluice

import (
	"bufio"

	"github.com/sluice-go/sluice/internal/sizing"
	"github.com/sluice-go/sluice/mem"
)

// ReadBuf returns the next n bytes in one piece, retained: they are the
// memory that was read into, they never change, and they are the caller's
// until Release, whatever becomes of the reader. It allocates nothing and
// copies only what a block's end cuts. Errors are those of Next.
//
// A small Buf keeps its whole block: call Buf.Compact on one that must live long.
func (b *BufReader) ReadBuf(n int) (mem.Buf, error) {
	r, s := b.win.R, b.win.Slab()
	if uint(n-1) < uint(b.win.W-r) && uint(n) <= uint(b.win.Limit) && s.Valid() {
		b.win.R = r + n
		return s.Cut(r, n), nil
	}
	return b.bufSlow(n)
}

//go:noinline
func (b *BufReader) bufSlow(n int) (mem.Buf, error) {
	if uint(n-1) < uint(b.win.W-b.win.R) && uint(n) <= uint(b.win.Limit) {
		return b.win.Cut(n), nil
	}
	if n == 0 {
		return b.bufOfNothing()
	}
	if err := b.whole("ReadBuf", n); err != nil {
		return mem.Buf{}, err
	}
	return b.win.Cut(n), nil
}

// bufOfNothing is bufSlow for no bytes, which take no memory where there is
// some: a heartbeat does not wait for the budget.
func (b *BufReader) bufOfNothing() (mem.Buf, error) {
	if b.kind == closed {
		return mem.Buf{}, ErrClosed
	}
	if b.win.Holds() {
		return b.win.Cut(0), nil
	}
	s, err := b.acquire(1, 1)
	if err != nil {
		return mem.Buf{}, err
	}
	p := s.Cut(0, 0)
	s.Release()
	return p, nil
}

// ReadBufs is ReadBuf for len(dst) holders at once: each gets a reference of
// its own to the same n bytes, retained, in dst, whose content is overwritten
// and not released. However many there are, that costs no atomic operation.
// On error dst has not changed.
func (b *BufReader) ReadBufs(n int, dst []mem.Buf) error {
	if uint(n-1) >= uint(b.win.W-b.win.R) || uint(n) > uint(b.win.Limit) {
		return b.bufsSlow(n, dst)
	}
	b.win.CutFor(dst, n)
	return nil
}

func (b *BufReader) bufsSlow(n int, dst []mem.Buf) error {
	if n == 0 {
		if len(dst) == 0 {
			return nil // and no read, which could wait
		}
		p, err := b.bufSlow(0)
		if err != nil {
			return err
		}
		p.Share(dst[1:])
		dst[0] = p //sluice:moved
		return nil
	}
	if err := b.whole("ReadBufs", n); err != nil {
		return err
	}
	b.win.CutFor(dst, n)
	return nil
}

// ReadBytes returns the next n bytes, retained, as a list of the pieces of
// memory that they were read into: none is copied to join them. It costs one
// small allocation. Errors are those of Next, and then nothing is consumed.
func (b *BufReader) ReadBytes(n int) (*mem.Memory, error) {
	if n < 0 {
		return nil, &Error{op: "ReadBytes", limit: int64(n), Err: bufio.ErrNegativeCount}
	}
	if b.kind == closed {
		return nil, ErrClosed
	}
	if n == 0 {
		return mem.NewMemory(), nil
	}
	if n <= len(b.View()) || n <= sizing.Piece && b.win.Queued() == 0 || b.win.Marked() {
		buf, err := b.ReadBuf(n)
		if err != nil {
			return nil, rename(err, "ReadBytes")
		}
		return mem.NewMemory(buf), nil
	}
	if limit := b.limits().frame; n > limit {
		return nil, &Error{op: "ReadBytes", limit: int64(limit), got: int64(n), Err: ErrTooLong}
	}
	b.size.Open = false
	b.size.Asked(min(n, sizing.MaxBlock))
	for b.win.Len() < n {
		if err := b.receive(n, true); err != nil {
			return nil, b.inside("ReadBytes", n, err)
		}
	}
	m := mem.NewMemory()
	b.win.Take(m, n)
	return m, nil
}

// rename puts the name of the called method into the error.
func rename(err error, op string) error {
	if e, ok := err.(*Error); ok {
		named := *e
		named.op = op
		return &named
	}
	return err
}
