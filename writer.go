package sluice

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sluice-go/sluice/internal/sizing"
	"github.com/sluice-go/sluice/mem"
)

// BufWriter collects small writes and counted memory, and sends them in one
// system call a Flush.
//
// Small writes are copied into a block, which is taken when the first byte
// comes and given back by Flush: an idle writer holds no memory. Bufs and
// Memories are transferred. Short Bufs are copied too, and released at once;
// longer ones and Memories are gathered in place with the rest, and released
// when they are out. On *net.TCPConn and stream *net.UnixConn a Flush is one
// writev for every 1,024 pieces; for other writers, TLS for one, short pieces
// are joined into Writes of 16 KiB.
//
// Bytes may stay in memory until Flush is called. The writer flushes by itself
// when Options.BufLen bytes wait, and before a write that is too large to copy
// returns. An error is sticky: every later call returns it, and
// Error.Done says how many bytes of that Flush went out.
//
// When the writer below panics inside its Write, that is an error as well: the
// panic goes on to the caller, what waited is released, and later calls return
// an *Error.
//
// A BufWriter is used by one goroutine at a time; another may close the
// connection under it. The zero BufWriter is ready for Reset and has the
// default Options.
type BufWriter struct {
	w       io.Writer
	kind    sinkKind
	bound   int // the most bytes that wait
	asked   int // Options.BufLen
	timeout time.Duration
	alloc   *mem.Allocator

	// buf[s:e] was copied and is not among the pieces yet; buf[e:] is free.
	buf       []byte
	s, e      int
	slab      mem.Slab
	lent      bool // a reader fills buf[e:]: see ReadFrom
	size      int  // of the next block
	copyBelow int  // a Buf below this length is copied

	waiting pieces // in order, before buf[s:e]
	written int64
	err     error
}

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
	b.Recycle()
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
// does nothing. The writer below is not closed: it is the caller's.
func (b *BufWriter) Recycle() {
	b.w, b.timeout = nil, 0
	b.err = ErrClosed
	b.waiting.drop()
	b.dropBlock()
}

// SetTimeout bounds each Flush from now on, those included that the writer
// makes by itself; 0 ends that. It sets the write deadline of the connection
// below at the beginning of each and leaves it there, and returns
// os.ErrNoDeadline when that has none. Reset ends it.
func (b *BufWriter) SetTimeout(d time.Duration) error {
	if d < 0 {
		panic(fmt.Sprintf("sluice: BufWriter.SetTimeout(%v)", d))
	}
	if b.w == nil {
		return ErrClosed
	}
	c, ok := b.w.(interface{ SetWriteDeadline(time.Time) error })
	if !ok {
		return os.ErrNoDeadline
	}
	if d == 0 && b.timeout > 0 {
		if err := c.SetWriteDeadline(time.Time{}); err != nil {
			return err
		}
	}
	b.timeout = d
	return nil
}

// Buffered returns the number of bytes that wait for Flush.
func (b *BufWriter) Buffered() int { return b.waiting.size + b.e - b.s }

// room returns how many bytes can be written before the writer flushes by
// itself.
func (b *BufWriter) room() int { return max(0, b.bound-b.Buffered()) }

// Write takes p, borrowed until it returns: what is short is copied, what is
// long is sent at once, behind what waits.
func (b *BufWriter) Write(p []byte) (int, error) {
	if b.err == nil && len(p) <= len(b.buf)-b.e && len(p) < directFrom {
		b.e += copy(b.buf[b.e:], p)
		return len(p), nil
	}
	return b.writeSlow(p)
}

func (b *BufWriter) writeSlow(p []byte) (int, error) {
	if len(p) < directFrom {
		return copyIn(b, p)
	}
	if err := b.failed(); err != nil {
		return 0, err
	}
	b.seal()
	before := b.waiting.size
	b.waiting.add(p)
	out, err := b.flush("Write", false)
	return min(max(0, int(out)-before), len(p)), err
}

// copyIn copies p into blocks, whatever its length. It keeps nothing of p, so
// that a caller's array need not go to the heap.
func copyIn[T []byte | string](b *BufWriter, p T) (int, error) {
	if err := b.failed(); err != nil {
		return 0, err
	}
	done := 0
	for done < len(p) {
		if b.e == len(b.buf) {
			if err := b.grow(len(p) - done); err != nil {
				return done, err
			}
		}
		n := copy(b.buf[b.e:], p[done:])
		b.e += n
		done += n
	}
	return done, nil
}

// failed returns why nothing can be written: the sticky error, or that there
// is no writer below.
func (b *BufWriter) failed() error {
	if b.w == nil {
		b.err = ErrClosed
	}
	return b.err
}

// WriteString is Write of a string.
func (b *BufWriter) WriteString(s string) (int, error) {
	if b.err == nil && len(s) <= len(b.buf)-b.e {
		b.e += copy(b.buf[b.e:], s)
		return len(s), nil
	}
	return copyIn(b, s)
}

// WriteByte writes one byte.
func (b *BufWriter) WriteByte(c byte) error {
	if b.e == len(b.buf) || b.err != nil {
		if err := b.failed(); err != nil {
			return err
		}
		if err := b.grow(1); err != nil {
			return err
		}
	}
	b.buf[b.e] = c
	b.e++
	return nil
}

// WriteBuf takes p, transferred, also when it fails. A short one is copied and
// released at once: below 4 KiB over TCP and Unix sockets, below 64 KiB
// elsewhere, where that costs less. A longer one is released when it is out.
func (b *BufWriter) WriteBuf(p mem.Buf) error {
	if q := p.Bytes(); b.err == nil && len(q) < b.copyBelow && len(q) <= len(b.buf)-b.e {
		b.e += copy(b.buf[b.e:], q)
		p.Release()
		return nil
	}
	return b.writeBufSlow(p)
}

func (b *BufWriter) writeBufSlow(p mem.Buf) error {
	if b.failed() != nil || p.Len() < b.copyBelow {
		// Deferred, because the writer below may panic.
		defer p.Release()
		_, err := copyIn(b, p.Bytes())
		return err
	}
	b.seal()
	b.waiting.addBuf(p)
	return b.bounded()
}

// WriteMemory takes m, transferred, also when it fails: it is released when it
// is out.
func (b *BufWriter) WriteMemory(m *mem.Memory) error {
	if m == nil {
		panic("sluice: BufWriter.WriteMemory(nil)")
	}
	if err := b.failed(); err != nil {
		m.Release()
		return err
	}
	if m.Size == 0 {
		m.Release()
		return nil
	}
	b.seal()
	b.waiting.addMemory(m)
	return b.bounded()
}

// bounded flushes when the limit of waiting bytes is reached. Otherwise it limits
// the bytes that may still be copied.
func (b *BufWriter) bounded() error {
	room := b.room()
	if room == 0 {
		_, err := b.flush("Flush", false)
		return err
	}
	b.buf = b.buf[:min(len(b.buf), b.e+room)]
	return nil
}
