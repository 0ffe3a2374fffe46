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
// The messages of a UDP connection, and of other sockets of messages of package net, are read
// whole, one after the other as a stream; a reader of one holds 64 KiB while it waits, and a
// message of that or more, which UDP does not have, is lost with ErrTooLong. Of types that wrap
// such a connection what of a message the room for a read does not hold is lost, without an error.
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
	guard    guard
	epoch    uint16 // number of the Reset or Recycle, so that a read notices one
	after    int32  // of the block to take after a wait for which the block was given back
	// reported is what the budget knows of the capacity that is held: during a wait for
	// the peer, or, negative, outside of waits.
	reported int32

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

// feed is the side of a reader that others put bytes in.
type feed struct {
	mouth *source.Mouth // of NewBufReaderChan
	end   error         // of NewBufReaderFed: what calls return that lack bytes
	tried tried
}

// Buffered returns the number of bytes that have been received and not
// consumed.
func (b *BufReader) Buffered() int { return b.win.Len() }

// TotalRead returns the number of bytes received from the source since
// construction or Reset; less Buffered, it is the number consumed.
func (b *BufReader) TotalRead() int64 { return b.win.Received() }

// SetLimits sets the reader's limits to those of o: Line, Header and Frame. The
// rest of o is ignored. Reset keeps them.
func (b *BufReader) SetLimits(o Options) {
	l := defaults
	for _, v := range []struct{ to, from *int }{{&l.line, &o.Line}, {&l.header, &o.Header}, {&l.frame, &o.Frame}} {
		if *v.from > 0 {
			*v.to = min(*v.from, maxLimit)
		}
	}
	b.extras().limits = l
	b.win.Limit = uint32(l.frame)
}

func (b *BufReader) limits() *limits {
	if b.x == nil {
		return &defaults
	}
	return &b.x.limits
}

func (b *BufReader) extras() *extra {
	if b.x == nil {
		b.x = &extra{limits: defaults}
	}
	return b.x
}

// inside is inside for n bytes of which the reader has some.
//
//go:noinline
func (b *BufReader) inside(op string, n int, err error) error {
	return inside(op, n, b.Buffered(), err)
}

func panicRead(n, room int) {
	panic(fmt.Sprintf("sluice: a reader returned %d bytes for %d", n, room))
}

//go:noinline
func panicReset() {
	panic("sluice: BufReader was recycled or reset during a read of its own")
}
