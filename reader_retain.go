package sluice

import (
	"bufio"

	"github.com/sluice-go/sluice/mem"
)

// ReadBuf returns the next n bytes in one piece, retained: they are the
// memory that was read into, they never change, and they are the caller's
// until Release, whatever becomes of the reader. It allocates nothing and
// copies only what a block's end cuts. Errors are those of Next.
//
// A small Buf keeps its whole block: one that is to live long is compacted
// with Buf.Compact.
func (b *BufReader) ReadBuf(n int) (mem.Buf, error) {
	r := b.r
	if uint(n-1) < uint(b.w-r) {
		b.r = r + n
		return b.slab.Cut(r, n), nil
	}
	return b.bufSlow(n)
}

//go:noinline
func (b *BufReader) bufSlow(n int) (mem.Buf, error) {
	if n == 0 && b.src != nil {
		return b.alloc.TryGet(0)
	}
	if err := b.whole("ReadBuf", n); err != nil {
		return mem.Buf{}, err
	}
	if n == 0 {
		return mem.Buf{}, ErrClosed
	}
	r := b.r
	b.r = r + n
	return b.slab.Cut(r, n), nil
}

// piece is how long a run of bytes ReadBytes brings together by copying; a
// longer one stays in the blocks that it came in.
const piece = maxBlock / 4

// ReadBytes returns the next n bytes, retained, as a list of the pieces of
// memory that they were read into: none is copied to join them. It costs one
// small allocation. Errors are those of Next, and then nothing is consumed.
func (b *BufReader) ReadBytes(n int) (*mem.Memory, error) {
	if n < 0 {
		return nil, &Error{Op: "ReadBytes", Limit: int64(n), Err: bufio.ErrNegativeCount}
	}
	if b.src == nil {
		return nil, ErrClosed
	}
	if n == 0 {
		return mem.NewMemory(), nil
	}
	if n <= b.w-b.r || n <= piece && b.queued() == 0 || b.mark >= 0 {
		buf, err := b.ReadBuf(n)
		if err != nil {
			return nil, rename(err, "ReadBytes")
		}
		return mem.NewMemory(buf), nil
	}
	if limit := b.limits().Frame; n > limit {
		return nil, &Error{Op: "ReadBytes", Limit: int64(limit), Got: int64(n), Err: ErrTooLong}
	}
	b.size.asked(min(n, maxBlock))
	if err := b.gather(n); err != nil {
		return nil, inside("ReadBytes", n, b.Buffered(), err)
	}
	m := mem.NewMemory()
	if k := b.w - b.r; k > 0 {
		m.Append(b.slab.Cut(b.r, k))
		b.r = b.w
	}
	for left := n - m.Size; left > 0; {
		if k := b.x.first().Len(); k <= left {
			m.Append(b.x.pop())
			left -= k
			continue
		}
		m.Append(b.x.first().RetainedSlice(0, left))
		b.x.cut(left)
		left = 0
	}
	b.remember(m)
	return m, nil
}

// remember keeps what UnreadByte needs after bytes bypassed the window.
func (b *BufReader) remember(m *mem.Memory) {
	b.dropBlock()
	if k := len(m.Buffers); k > 0 {
		last := m.Buffers[k-1]
		b.lastByte = int16(last[len(last)-1])
		b.fixed = -1
	}
}

// rename says that the error is that of the method that was called.
func rename(err error, op string) error {
	if e, ok := err.(*Error); ok {
		named := *e
		named.Op = op
		return &named
	}
	return err
}
