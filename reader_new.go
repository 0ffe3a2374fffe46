package sluice

import (
	"io"

	"github.com/sluice-go/sluice/internal/sizing"
	"github.com/sluice-go/sluice/internal/source"
	"github.com/sluice-go/sluice/mem"
)

// NewBufReader returns a reader of r with the options o, or with the defaults.
// If r is a BufReader and there are no options, it returns r itself. A nil r makes
// a reader that is fed, as NewBufReaderFed does. The block size follows the stream.
//
// A type of connection that is not one of package net and wraps none may have
// the method RawRead() syscall.Conn: reading from that descriptor must be the
// same as calling Read, and nil says that there is none. A reader over one holds no
// memory while it waits, as over *net.TCPConn.
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
// reader that is fed, as NewBufReaderFed does. A Reset of b to itself does nothing.
func (b *BufReader) Reset(r io.Reader) {
	if r == nil {
		b.resetFed()
		return
	}
	if r == io.Reader(b) {
		return // as with bufio
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
	r = messageSource(r, b.alloc)
	b.src = r
	b.straighten()
	_, b.waits = r.(deadliner)
	if _, ok := r.(io.Closer); ok {
		b.guard = closing
	}
	// A connection may say nothing at all: the first read asks with the
	// smallest block.
	b.size.Drained = b.waits
}

func (b *BufReader) resetFed() {
	b.start(fed)
	b.feed.Store(&feed{end: ErrShort})
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
	b.win.Limit = uint32(b.limits().frame)
	b.kind = k
}

// Recycle gives the reader's memory back and ends its use; what it has handed
// out as Buf or Memory lives on. Calls after it that need bytes return ErrClosed, until Reset.
// A second Recycle does nothing. The source is not closed: it is the caller's.
// A Recycle during a read by another goroutine panics, or makes that panic: close
// the connection to end the read first. A source without Close that is inside Read
// then may still write to memory that was given back.
func (b *BufReader) Recycle() {
	b.undisturbed()
	b.epoch++
	b.keep(0)
	if x := b.x; x != nil {
		x.endContext()
		if x.timeout > 0 && b.kind != closed {
			// The connection's next user has not asked for this deadline.
			_ = b.SetTimeout(0)
		}
		x.timeout = 0
		x.halt = nil // it knows the connection
		x.beside = 0
	}
	switch b.kind {
	case raw:
		b.raw.Reset()
	case mouth:
		b.feed.Load().mouth.Close()
	case fed:
		b.feed.Load().tried = tried{} // half a header of the last user's
	case plain:
		if m, ok := b.src.(*messages); ok {
			m.release()
		}
	}
	b.kind, b.src, b.err, b.waits, b.inHeader = closed, nil, nil, false, false
	b.straight, b.guard = false, open
	b.win.Init()
}
