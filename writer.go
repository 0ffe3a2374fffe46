package sluice

import (
	"fmt"
	"io"
	"net"
	"os"
	"time"
	"unicode/utf8"

	"github.com/sluice-go/sluice/mem"
)

// BufWriter collects small writes and counted memory, and sends them in one
// system call a Flush.
//
// Small writes are copied into a block, which is taken when the first byte
// comes and given back by Flush: an idle writer holds no memory. Bufs and
// Memories are not copied; they are transferred, gathered in place with the
// rest, and released when they are out. On *net.TCPConn and stream
// *net.UnixConn a Flush is one writev for every 1,024 pieces; for other
// writers, TLS for one, pieces are brought together to 16 KiB a Write.
//
// Bytes that Flush has not been called for may be in memory still. The writer
// flushes by itself when Bound bytes wait, and before a write that is too large
// to copy returns. An error is sticky: every later call returns it, and
// Error.Done says how many bytes of that Flush went out.
//
// A BufWriter is used by one goroutine at a time; another may close the
// connection under it. The zero BufWriter is ready for Reset.
type BufWriter struct {
	// Allocator gives the blocks; nil is mem.Default(). It is read at
	// construction and by Reset.
	Allocator *mem.Allocator
	// Bound is the most bytes that wait before the writer flushes by itself;
	// 0 is 64 KiB. It is read at construction and by Reset.
	Bound int

	w       io.Writer
	gathers bool // w takes many pieces in one system call
	bound   int
	timeout time.Duration
	alloc   *mem.Allocator

	// buf[s:e] was copied and is not among the pieces yet; buf[e:] is free.
	buf  []byte
	s, e int
	slab mem.Slab
	size int // of the next block

	pieces   net.Buffers // in order, before buf[s:e]
	eaten    net.Buffers // what net.Buffers.WriteTo works off
	waiting  int         // bytes in pieces
	bufs     []mem.Buf   // released when the pieces are out
	memories []*mem.Memory

	written int64
	err     error
}

const (
	defaultBound = 64 << 10
	// copyBelow is the length below which a piece of its own costs more, in
	// the kernel's list and in the memory that it keeps, than a copy.
	copyBelow = 512
	// direct is the length from which Write does not copy: it sends what
	// waits and the caller's bytes together.
	directFrom = 8 << 10
	// together is what pieces are brought together to for writers that take
	// one piece a call: a TLS record's payload.
	together = 16 << 10
)

// NewBufWriter returns a writer to w.
func NewBufWriter(w io.Writer) *BufWriter {
	b := new(BufWriter)
	b.Reset(w)
	return b
}

// Reset makes b write to w, and drops what has not been flushed and the
// sticky error. It brings a recycled writer back to life.
func (b *BufWriter) Reset(w io.Writer) {
	b.Recycle()
	b.w, b.err, b.written, b.size = w, nil, 0, firstBlock
	b.alloc = b.Allocator
	if b.alloc == nil {
		b.alloc = mem.Default()
	}
	b.bound = b.Bound
	if b.bound <= 0 {
		b.bound = defaultBound
	}
	switch c := w.(type) {
	case *net.TCPConn:
		b.gathers = true
	case *net.UnixConn:
		a := c.LocalAddr()
		b.gathers = a != nil && a.Network() == "unix"
	default:
		b.gathers = false
	}
}

// Recycle drops what has not been flushed, gives all memory back and ends the
// writer's use: calls after it return ErrClosed, until Reset. A second Recycle
// does nothing. The writer below is not closed: it is the caller's.
func (b *BufWriter) Recycle() {
	b.dropPieces()
	b.dropBlock()
	b.w, b.timeout = nil, 0
	b.err = ErrClosed
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
func (b *BufWriter) Buffered() int { return b.waiting + b.e - b.s }

// Available returns how many bytes can be written before the writer flushes
// by itself.
func (b *BufWriter) Available() int { return max(0, b.bound-b.Buffered()) }

// TotalWritten returns the number of bytes that went out since construction
// or Reset.
func (b *BufWriter) TotalWritten() int64 { return b.written }

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
	before := b.waiting
	b.pieces = append(b.pieces, p)
	b.waiting += len(p)
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
			if err := b.grow(); err != nil {
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
		if err := b.grow(); err != nil {
			return err
		}
	}
	b.buf[b.e] = c
	b.e++
	return nil
}

// WriteRune writes a rune in UTF-8 and returns its length.
func (b *BufWriter) WriteRune(r rune) (int, error) {
	var p [utf8.UTFMax]byte
	return copyIn(b, p[:utf8.EncodeRune(p[:], r)])
}

// WriteBE writes the n low bytes of v, 1 to 4, the highest first. Another n
// panics.
func (b *BufWriter) WriteBE(v uint32, n int) error {
	if uint(n-1) > 3 {
		panic(fmt.Sprintf("sluice: BufWriter.WriteBE(%d, %d): 1 to 4 bytes", v, n))
	}
	p := [4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}
	_, err := copyIn(b, p[4-n:])
	return err
}

// WriteLE writes the n low bytes of v, 1 to 4, the lowest first. Another n
// panics.
func (b *BufWriter) WriteLE(v uint32, n int) error {
	if uint(n-1) > 3 {
		panic(fmt.Sprintf("sluice: BufWriter.WriteLE(%d, %d): 1 to 4 bytes", v, n))
	}
	p := [4]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)}
	_, err := copyIn(b, p[:n])
	return err
}

// WriteBuf takes p, transferred, also when it fails: it is released when it is
// out, or at once when it is short enough to copy.
func (b *BufWriter) WriteBuf(p mem.Buf) error {
	if err := b.failed(); err != nil {
		p.Release()
		return err
	}
	if n := p.Len(); n < copyBelow || !b.gathers && n < together {
		_, err := copyIn(b, p.Bytes())
		p.Release()
		return err
	}
	b.seal()
	b.bufs = append(b.bufs, p)
	b.pieces = append(b.pieces, p.Bytes())
	b.waiting += p.Len()
	return b.bounded()
}

// WriteMemory takes m, transferred, also when it fails: it is released when it
// is out.
func (b *BufWriter) WriteMemory(m *mem.Memory) error {
	if err := b.failed(); err != nil {
		m.Release()
		return err
	}
	if m.Size == 0 {
		m.Release()
		return nil
	}
	b.seal()
	b.memories = append(b.memories, m)
	b.pieces = append(b.pieces, m.Buffers...)
	b.waiting += m.Size
	return b.bounded()
}

// bounded flushes when as much waits as may, and otherwise sees to it that no
// more than that is copied behind it.
func (b *BufWriter) bounded() error {
	room := b.Available()
	if room == 0 {
		_, err := b.flush("Flush", false)
		return err
	}
	b.buf = b.buf[:min(len(b.buf), b.e+room)]
	return nil
}
