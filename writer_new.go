package sluice

import (
	"io"

	"github.com/sluice-go/sluice/internal/sizing"
	"github.com/sluice-go/sluice/mem"
)

// NewBufWriter returns a writer to w. It takes at most one Options; more panic.
// It returns w itself when w is a BufWriter with at least the bound that the
// Options ask for, and with their allocator if they name one.
func NewBufWriter(w io.Writer, o ...Options) *BufWriter {
	opt := oneOptions("NewBufWriter", o)
	if b, ok := w.(*BufWriter); ok && b.suits(opt) {
		return b
	}
	b := &BufWriter{alloc: opt.Allocator, asked: opt.BufLen}
	b.Reset(w)
	return b
}

// suits reports whether b is a writer such as NewBufWriter(b, o) would make.
func (b *BufWriter) suits(o Options) bool {
	if b == nil {
		return false
	}
	bound := o.BufLen
	if bound <= 0 {
		bound = b.kind.bound
	}
	return b.w != nil && b.bound >= bound && (o.Allocator == nil || o.Allocator == b.alloc)
}

// Reset makes b write to w, and drops what has not been flushed and the
// sticky error. It keeps the Options and allocates nothing. It brings a
// recycled writer back to life. A Reset of b to itself does nothing.
func (b *BufWriter) Reset(w io.Writer) {
	if w == io.Writer(b) {
		return
	}
	b.enter()
	defer b.leave() // also when a release panics
	b.clear()
	b.w, b.err, b.written, b.size = w, nil, 0, sizing.FirstBlock
	if b.alloc == nil {
		b.alloc = mem.Default()
	}
	b.kind = kindOf(w)
	b.bound = b.asked
	if b.bound <= 0 {
		b.bound = b.kind.bound
	}
	// A Buf as long as the bound goes out at once, in one piece.
	b.copyBelow = min(b.kind.copyBelow, b.bound)
}

// Recycle drops what has not been flushed, gives all memory back and ends the
// writer's use: calls after it return ErrClosed, until Reset. A second Recycle
// does nothing. The writer below is not closed: it is the caller's. While
// another goroutine is sending it panics: close the connection to end that first.
func (b *BufWriter) Recycle() {
	b.enter()
	defer b.leave() // also when a release panics
	b.clear()
}

// clear drops all that waits and all memory.
func (b *BufWriter) clear() {
	b.w, b.timeout = nil, 0
	b.err = ErrClosed
	b.unholdAll()
	b.waiting.drop()
	b.dropBlock()
}
