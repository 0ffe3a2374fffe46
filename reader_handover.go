package sluice

import (
	"bufio"
	"io"
	"net"

	"github.com/sluice-go/sluice/mem"
)

// NewBufReaderFrom takes over reading from conn, which somebody has begun to
// read through rw, as http.Hijacker leaves it: what rw has buffered is copied
// and comes first, and rw's reader is not used afterwards.
func NewBufReaderFrom(rw *bufio.ReadWriter, conn net.Conn) *BufReader {
	b := new(BufReader)
	b.ResetFrom(rw, conn)
	return b
}

// ResetFrom is Reset to a reader as NewBufReaderFrom makes it.
func (b *BufReader) ResetFrom(rw *bufio.ReadWriter, conn net.Conn) {
	b.Reset(conn)
	n := rw.Reader.Buffered()
	if n == 0 {
		return
	}
	// Peek of what is buffered does not fail and does not read.
	p, _ := rw.Peek(n)
	buf := b.alloc.Get(n)
	copy(buf.Bytes(), p)
	b.total += int64(n)
	b.extras().enqueue(buf)
	b.show()
	_, _ = rw.Discard(n)
}

// Detach ends the reader and hands everything on: rest is what had been
// received and not consumed, retained by the caller (it may be empty), and r
// is what the reader read from, nil when that was bytes in hand, a channel or
// a feed. A following owner reads rest first. An error that had come with the
// latest bytes is lost: the source will give it again. The reader is recycled.
func (b *BufReader) Detach() (rest *mem.Memory, r io.Reader) {
	rest = mem.NewMemory()
	if b.r < b.w {
		rest.Append(b.slab.Cut(b.r, b.w-b.r))
	}
	for b.queued() > 0 {
		rest.Append(b.x.pop())
	}
	if b.src != nil {
		r = b.src.reader()
	}
	b.Recycle()
	return rest, r
}
