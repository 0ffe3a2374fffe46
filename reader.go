package sluice

import (
	"fmt"
	"io"
	"net"
	"sync/atomic"

	"github.com/sluice-go/sluice/mem"
)

// BufReader reads a byte stream into pooled, counted memory and lends or
// hands out parts of it without copying.
//
// It is what bufio.Reader is, with three differences. What it returns can be
// kept: ReadBuf and ReadBytes give references to the very memory that was
// read into, and those bytes never change. A reader that waits holds no
// memory: over *net.TCPConn and stream *net.UnixConn the block is taken when
// bytes are there; over other connections what waits is the smallest block,
// and over other readers too unless they have just delivered without a pause.
// And memory follows the bytes that have arrived, whatever a header claims.
//
// Bytes from View, Peek, Next, ReadSlice, ReadLineSlice and ReadRange are
// borrowed until the next call on the reader.
//
// Errors: io.EOF is for the boundary between items, io.ErrUnexpectedEOF for an
// end inside one. Bytes that arrive with an error are delivered before it.
// When the source fails or a deadline passes, the calls that want a number of
// bytes at once (Peek, Next, ReadBuf, ReadBytes, ReadBE and kin, lines and
// headers) have consumed nothing and can be repeated; the streaming ones
// (ReadRange, Skip, WriteTo) say in Error.Done how far they came. After an
// error that is not ErrClosed the reader can be used on.
//
// A BufReader is used by one goroutine at a time; another may close the
// connection under it, and the chan and feed side of NewBufReaderChan is for
// another goroutine by design.
//
// The zero BufReader is ready for Reset.
type BufReader struct {
	// Allocator gives the blocks; nil is mem.Default(). It is read at
	// construction and by Reset and its kin.
	Allocator *mem.Allocator
	// BufLen pins the size of the reads and blocks in bytes; 0 lets it follow
	// the stream, between 256 B and 64 KiB, more for longer frames. It is
	// read at construction and by Reset and its kin.
	BufLen int
	// Mouth takes the slices of a reader that NewBufReaderChan made; nil
	// otherwise. Slices sent are transferred. Closing it ends the stream.
	Mouth chan []byte

	// The window: buf[r:w] has been received and not consumed. buf is all of
	// the current block that may be read into, or just the bytes of a block
	// that somebody else filled.
	buf  []byte
	r, w int

	slab  mem.Slab // the block that buf lies in
	owned bool     // buf[w:] is ours to fill

	queuing bool // the source brings blocks of its own
	ownMark bool // a call has set the mark for itself

	lastByte int16 // the byte before lo, -1 when unknown
	lo       int   // oldest consumed byte that is still in buf
	fixed    int   // UnreadByte is refused while r is here
	mark     int   // start of what Rollback returns to, -1 without a mark

	size  sizing
	need  int // contiguous bytes that the fetch under way is for
	total int64
	alloc *mem.Allocator
	src   source
	plain *readerSource // src, when it is one
	err   error         // came with the latest bytes and waits until they are used
	x     *extra
	feed  atomic.Pointer[feed] // the side that others put bytes in; nil for most
}

// A source brings bytes when the window has too few. It is one of: raw
// connection, io.Reader, chan, fed, ended.
type source interface {
	// fetch adds at least one byte to b, by reading into b.room or by
	// b.enqueueBytes, or returns why not. It has set b.err when bytes came with an
	// error.
	fetch(b *BufReader) error
	// reader returns what the source reads from, for Detach.
	reader() io.Reader
	close()
}

// NewBufReader returns a reader of r. The block size follows the stream.
func NewBufReader(r io.Reader) *BufReader {
	b := new(BufReader)
	b.Reset(r)
	return b
}

// NewBufReaderWithBufLen returns a reader of r whose reads and blocks are
// bufLen bytes. A frame that is longer than that still comes whole, in a block
// of its own. bufLen below 16 is 16.
func NewBufReaderWithBufLen(r io.Reader, bufLen int) *BufReader {
	b := &BufReader{BufLen: max(bufLen, 16)}
	b.Reset(r)
	return b
}

// NewBufReaderBytes returns a reader of p, transferred: the bytes are viewed
// where they are and never copied for a view that lies in them. Bufs read
// from it keep p alive.
func NewBufReaderBytes(p []byte) *BufReader {
	b := new(BufReader)
	b.ResetBytes(p)
	return b
}

// ResetBytes is Reset to a reader as NewBufReaderBytes makes it: p is
// transferred.
func (b *BufReader) ResetBytes(p []byte) {
	b.start(endedSource{})
	b.enqueueBytes(p)
	b.show()
}

// Reset makes b read from r and forgets everything about what was read
// before, except Bufs and Memories that were handed out and the limits. It
// brings a recycled reader back to life, so that readers can be pooled.
func (b *BufReader) Reset(r io.Reader) {
	b.start(nil)
	b.src = newSource(b, r)
	b.plain, _ = b.src.(*readerSource)
	// A connection may say nothing at all: the first read asks with the
	// smallest block too.
	b.size.drained = b.plain != nil && b.plain.conn
}

// start is the state of a reader that has read nothing.
func (b *BufReader) start(s source) {
	b.Recycle()
	b.Mouth = nil
	b.feed.Store(nil)
	b.alloc = b.Allocator
	if b.alloc == nil {
		b.alloc = mem.Default()
	}
	b.size = newSizing(b.BufLen)
	b.total = 0
	b.src, b.queuing = s, queues(s)
}

func newSource(b *BufReader, r io.Reader) source {
	switch c := r.(type) {
	case nil:
		return endedSource{}
	case *net.TCPConn:
		if s := newRawSource(b, c, c); s != nil {
			return s
		}
	case *net.UnixConn:
		// A datagram's end would be lost in a stream of bytes read here.
		if a := c.LocalAddr(); a != nil && a.Network() == "unix" {
			if s := newRawSource(b, c, c); s != nil {
				return s
			}
		}
	case RawReader:
		if s := newRawSource(b, r, c.RawRead()); s != nil {
			return s
		}
	}
	_, conn := r.(deadliner)
	return &readerSource{r: r, conn: conn}
}

// Recycle gives the reader's memory back and ends its use; what it has handed
// out as Buf or Memory lives on. Calls after it return ErrClosed, until Reset.
// A second Recycle does nothing. The source is not closed: it is the caller's.
func (b *BufReader) Recycle() {
	b.dropBlock()
	if x := b.x; x != nil {
		x.dropQueue()
		x.endContext()
		if x.timeout > 0 && b.src != nil {
			// Whoever goes on with the connection has not asked for it.
			_ = b.SetTimeout(0)
		}
		x.timeout = 0
	}
	if b.src != nil {
		b.src.close()
		b.src, b.plain = nil, nil
	}
	b.err = nil
	b.mark, b.lastByte, b.fixed, b.lo = -1, -1, 0, 0
}

// Buffered returns the number of bytes that have been received and not
// consumed.
func (b *BufReader) Buffered() int {
	n := b.w - b.r
	if b.x != nil {
		n += b.x.queued
	}
	return n
}

// TotalRead returns the number of bytes received from the source since
// construction or Reset; less Buffered, it is the number consumed.
func (b *BufReader) TotalRead() int64 { return b.total }

// endedSource is that of bytes in hand: there is no more.
type endedSource struct{}

func (endedSource) fetch(*BufReader) error { return io.EOF }
func (endedSource) reader() io.Reader      { return nil }
func (endedSource) close()                 {}

func panicRead(n, room int) {
	panic(fmt.Sprintf("sluice: a reader returned %d bytes for %d", n, room))
}

func panicWrite(n, offered int) {
	panic(fmt.Sprintf("sluice: a writer took %d bytes of %d", n, offered))
}
