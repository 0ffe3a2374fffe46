package sluice

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/sizing"
	"github.com/sluice-go/sluice/internal/source"
	"github.com/sluice-go/sluice/internal/window"
	"github.com/sluice-go/sluice/mem"
)

// BufReader reads a byte stream into pooled, counted memory and lends or
// hands out parts of it without copying.
//
// It is what bufio.Reader is, with three differences. What it returns can be
// kept: ReadBuf and ReadBytes give references to the very memory that was
// read into, and those bytes never change. A reader that waits holds no
// memory: over *net.TCPConn and stream *net.UnixConn the block is taken when
// bytes are there; over other connections what waits is the smallest block
// that held the last messages, and over readers without deadlines a block of
// the stream's size. And memory follows the bytes that have arrived, not the
// length that a header states.
//
// When the allocator's budget is used up the reader waits in a queue, first in,
// first out, whether it holds a part of a frame or not. The timeout, the
// context, the connection's deadline and its Close end that wait too. mem.ErrBudget
// is for what could never fit, and for readers that are fed. A wrapper's deadline and
// Close are seen where it has NetConn, as that of TLS, embeds its connection, or has
// one field for it.
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
	// What the shortest paths look at comes first, side by side.

	win  window.Window // what has been received and not consumed
	err  error         // came with the latest bytes and waits until they are used
	src  io.Reader     // what bytes are read from; nil when that is no io.Reader
	size sizing.Sizing
	kind kind
	// straight says that the source is an io.Reader, the allocator has no budget,
	// and neither a timeout nor a context is set: see fill.
	straight bool
	waits    bool // the source is a connection: a block is kept while a Read waits
	asks     bool // the allocator has a budget
	// inHeader says that the mark is ReadMIMEHeader's own.
	inHeader bool
	epoch    uint16 // number of the Reset or Recycle, so that a read notices one
	after    int32  // of the block to take after a wait for which the block was given back
	idled    int32  // capacity that was reported to the budget as held during a wait

	x     *extra
	alloc *mem.Allocator
	raw   *source.Raw          // kept for the next Reset
	feed  atomic.Pointer[feed] // the side that others put bytes in; nil for most

	// Allocator gives the blocks; nil is mem.Default(). It is read at
	// construction and by Reset and its kin.
	Allocator *mem.Allocator
	// BufLen pins the size of the reads and blocks in bytes; 0 lets it follow
	// the stream, between 256 B and 64 KiB, more for longer frames. It is
	// read at construction and by Reset and its kin.
	BufLen int
	// Mouth takes the slices of a reader that NewBufReaderChan made; nil
	// otherwise. Slices sent are transferred. Closing it ends the stream. When the
	// reader has ended a send may wait for ever, where Feed returns ErrClosed.
	Mouth chan []byte
}

// A kind says where a reader's bytes come from.
type kind uint8

const (
	closed kind = iota // recycled
	plain              // src
	raw                // the descriptor of a connection
	mouth              // a channel
	fed                // its user, between calls
	ended              // nowhere: there is no more
)

// NewBufReader returns a reader of r with the options o, or with the defaults.
// If r is a BufReader and there are no options, it returns r itself. The block
// size follows the stream.
//
// A type of connection that is not one of package net and wraps none may have
// the method RawRead() syscall.Conn: reading from that descriptor must be the
// same as calling Read. A reader over one holds no memory while it waits, as
// over *net.TCPConn.
func NewBufReader(r io.Reader, o ...Options) *BufReader {
	if b, ok := r.(*BufReader); ok && len(o) == 0 {
		return b
	}
	b := made("NewBufReader", o)
	b.Reset(r)
	return b
}

// made returns a reader without a source.
func made(call string, o []Options) *BufReader {
	opt := oneOptions(call, o)
	b := &BufReader{Allocator: opt.Allocator, BufLen: opt.BufLen}
	if opt.Line|opt.Header|opt.Frame != 0 {
		b.SetLimits(opt)
	}
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
func NewBufReaderBytes(p []byte, o ...Options) *BufReader {
	b := made("NewBufReaderBytes", o)
	b.start(ended)
	b.win.AddBytes(p)
	return b
}

// Reset makes b read from r and forgets everything about what was read
// before, except Bufs and Memories that were handed out and the limits. It
// brings a recycled reader back to life, so that readers can be pooled, and
// allocates nothing; the first read over a connection does. A nil r makes it a
// reader that is fed, as NewBufReaderFed does.
func (b *BufReader) Reset(r io.Reader) {
	if r == nil {
		b.resetFed()
		return
	}
	if r == io.Reader(b) {
		panic("sluice: BufReader.Reset to itself")
	}
	if source.Descriptor(r) != nil {
		b.start(raw)
		b.src = r
		if b.raw == nil {
			b.raw = new(source.Raw)
		}
		b.raw.Reset()
		return
	}
	b.start(plain)
	b.src = r
	b.straighten()
	_, b.waits = r.(deadliner)
	// A connection may say nothing at all: the first read asks with the
	// smallest block.
	b.size.Drained = b.waits
}

// start is the state of a reader that has read nothing.
func (b *BufReader) start(k kind) {
	b.Recycle()
	b.Mouth = nil
	b.feed.Store(nil)
	b.alloc = b.Allocator
	if b.alloc == nil {
		b.alloc = mem.Default()
	}
	limit, _ := budget(b.alloc)
	b.asks = limit > 0
	b.size = sizing.New(b.BufLen)
	b.kind = k
}

// Recycle gives the reader's memory back and ends its use; what it has handed
// out as Buf or Memory lives on. Calls after it that need bytes return ErrClosed, until Reset.
// A second Recycle does nothing. The source is not closed: it is the caller's.
// A Recycle during a read by another goroutine makes that panic, and a source
// that is inside Read then may still write to memory that was given back:
// close the connection to end the read first.
func (b *BufReader) Recycle() {
	b.epoch++
	b.endIdle()
	if x := b.x; x != nil {
		x.endContext()
		if x.timeout > 0 && b.kind != closed {
			// The connection's next user has not asked for this deadline.
			_ = b.SetTimeout(0)
		}
		x.timeout = 0
		x.halt = nil // it knows the connection
	}
	switch b.kind {
	case raw:
		b.raw.Reset()
	case mouth:
		b.feed.Load().mouth.Close()
	}
	b.kind, b.src, b.err, b.waits, b.inHeader = closed, nil, nil, false, false
	b.straight = false
	b.win.Init()
}

// Buffered returns the number of bytes that have been received and not
// consumed.
func (b *BufReader) Buffered() int { return b.win.Len() }

// TotalRead returns the number of bytes received from the source since
// construction or Reset; less Buffered, it is the number consumed.
func (b *BufReader) TotalRead() int64 { return b.win.Received() }

func panicRead(n, room int) {
	panic(fmt.Sprintf("sluice: a reader returned %d bytes for %d", n, room))
}

func panicWrite(n, offered int) {
	panic(fmt.Sprintf("sluice: a writer took %d bytes of %d", n, offered))
}

//go:noinline
func panicReset() {
	panic("sluice: BufReader was recycled or reset during a read of its own")
}
