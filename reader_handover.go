package sluice

import (
	"bufio"
	"io"
	"net"

	"github.com/sluice-go/sluice/mem"
)

// NewBufReaderFrom takes over reading from conn, which was read through rw
// before, as http.Hijacker leaves it. What rw has buffered is copied and comes
// first, and rw's reader is not used afterwards.
func NewBufReaderFrom(rw *bufio.ReadWriter, conn net.Conn, o ...Options) *BufReader {
	if rw == nil || rw.Reader == nil || conn == nil {
		panic("sluice: NewBufReaderFrom without a Reader or a connection")
	}
	b := made("NewBufReaderFrom", o)
	b.Reset(conn)
	if n := rw.Reader.Buffered(); n > 0 {
		// Peek of what is buffered does not fail and does not read.
		p, _ := rw.Peek(n)
		// A block of the reader's own, which counts as held when it waits for the budget.
		s := b.alloc.Slab(n)
		copy(b.win.Begin(s, b.size.Length(len(s.Bytes()), n)), p)
		b.win.Filled(n)
		_, _ = rw.Discard(n)
	}
	return b
}

// Detach ends the reader and hands everything on: rest is what had been
// received and not consumed, retained by the caller (it may be empty), and r
// is what the reader read from, nil when that was bytes in hand, a channel or
// a feed. A following owner reads rest first. An error that had come with the
// latest bytes is lost: the source will give it again. The reader is recycled.
func (b *BufReader) Detach() (rest *mem.Memory, r io.Reader) {
	b.undisturbed()
	rest = mem.NewMemory()
	b.win.Unmark()
	b.win.Take(rest, b.win.Len())
	r = b.src
	if m, ok := r.(*messages); ok {
		r = m.detach(rest)
	}
	b.Recycle()
	return rest, r
}
