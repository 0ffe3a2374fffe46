package sluice

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/sluice-go/sluice/internal/sizing"
)

// Flush sends everything that waits, and returns when it is out. When that
// fails, Error.Done says how many of the bytes went out, and the error stays.
func (b *BufWriter) Flush() error {
	_, err := b.flush("Flush", false)
	return err
}

// errPanicked is the reason of the error that a panic below leaves behind.
var errPanicked = errors.New("the writer below panicked")

// flush sends what waits and returns how much went out. The block is kept for
// what follows when more is sure to come.
func (b *BufWriter) flush(op string, more bool) (out int64, err error) {
	if err := b.failed(); err != nil {
		return 0, err
	}
	size := int64(b.Buffered())
	if size == 0 {
		b.unholdAll()
		b.dropBlock()
		return 0, nil
	}
	b.enter()
	b.unholdAll()
	before := b.written
	err = errPanicked
	defer func() {
		defer b.leave() // also when a release panics
		out = b.written - before
		if err == nil && out < size {
			err = io.ErrShortWrite
		}
		if err != nil {
			err = &Error{op: op, limit: size, Done: out, Err: err}
			b.err = err
		}
		b.settle(int(size), more && err == nil)
	}()
	err = b.send()
	return
}

// settle releases what was to be sent, of size bytes, and the block too unless
// keep is set.
func (b *BufWriter) settle(size int, keep bool) {
	if size < b.size/4 {
		b.size = max(b.size/2, sizing.FirstBlock)
	}
	b.waiting.drop()
	if keep && b.slab.Valid() && !b.slab.Shared() {
		b.window()
		b.holdBlock()
	} else {
		b.dropBlock()
	}
}

func (b *BufWriter) deadline() error {
	return b.w.(interface{ SetWriteDeadline(time.Time) error }).SetWriteDeadline(time.Now().Add(b.timeout))
}

// send sends the pieces and counts what went out.
func (b *BufWriter) send() error {
	if b.timeout != 0 {
		if err := b.deadline(); err != nil {
			return err
		}
	}
	if len(b.waiting.list) == 0 {
		return b.sendOne(b.buf[b.s:b.e:b.e]) // most often: no list is needed
	}
	if !b.waiting.intact() {
		panicTransferred()
	}
	b.seal()
	if b.kind.gathers && len(b.waiting.list) > 1 {
		n, err := b.waiting.gather(b.w)
		b.written += n
		return err
	}
	for i := 0; i < len(b.waiting.list); {
		n, sum := b.waiting.next(i)
		if err := b.sendTogether(b.waiting.list[i:i+n], sum); err != nil {
			return err
		}
		i += n
	}
	return nil
}

//go:noinline
func panicTransferred() {
	panic("sluice: BufWriter was transferred a Buf or Memory that was released before it was out")
}

// sendTogether sends list, of sum bytes, in one Write.
func (b *BufWriter) sendTogether(list [][]byte, sum int) error {
	if len(list) == 1 {
		return b.sendOne(list[0])
	}
	room := b.alloc.Get(sum)
	defer room.Release() // also when Write panics
	p := room.Bytes()
	n := 0
	for _, q := range list {
		n += copy(p[n:], q)
	}
	return b.sendOne(p[:n])
}

func (b *BufWriter) sendOne(p []byte) error {
	n, err := b.w.Write(p)
	if n < 0 || n > len(p) {
		panicWrite(n, len(p))
	}
	b.written += int64(n)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return err
}

// seal makes what was copied a piece.
func (b *BufWriter) seal() {
	if b.s == b.e {
		return
	}
	b.waiting.add(b.buf[b.s:b.e:b.e])
	b.s = b.e
}

// grow makes room for copies when the block is full or there is none. The caller
// has n more bytes to copy; the new block may hold fewer.
func (b *BufWriter) grow(n int) error {
	if b.Buffered() >= b.most() {
		if _, err := b.flush("Flush", true); err != nil {
			return err
		}
		if b.slab.Valid() && len(b.buf) >= min(b.size, b.most()) {
			return nil
		}
	}
	b.seal()
	if b.slab.Valid() {
		b.size = min(4*b.size, sizing.MaxBlock)
		if b.s > 0 && len(b.waiting.list) > 0 {
			b.waiting.bufs = append(b.waiting.bufs, b.slab.Cut(0, 0))
		} else {
			b.unhold(len(b.slab.Bytes()))
		}
		b.dropBlock()
	}
	b.slab = b.alloc.Slab(min(max(b.size, n), sizing.MaxBlock, b.room()))
	b.window()
	b.holdBlock()
	return nil
}

// window makes the block's memory, none of which waits, the room for copies,
// as far as the bound allows.
func (b *BufWriter) window() {
	p := b.slab.Bytes()
	b.buf, b.s, b.e = p[:min(len(p), b.room())], 0, 0
}

func (b *BufWriter) dropBlock() {
	if b.slab.Valid() {
		b.slab.Release()
	}
	b.buf, b.s, b.e = nil, 0, 0
}

// ReadFrom writes everything that r has, until io.EOF. From a file or
// connection to a TCP connection the kernel moves the bytes where it can
// (sendfile, splice), after the waiting bytes went out. Otherwise the bytes are
// read into the writer's block, and the last of them wait for Flush. That is
// always so when a timeout is set, because the kernel's copy would not restart
// it for each part.
//
// r must not use the writer: that panics.
//
// An error of r is returned as it is, and is not sticky. An error of the kernel's
// copy is not sticky either: it does not say which side failed. io.Copy wraps a
// file or connection in a type that hides what it is, so that only a direct call
// of ReadFrom lets the kernel copy.
func (b *BufWriter) ReadFrom(r io.Reader) (int64, error) {
	if r == nil {
		panic("sluice: BufWriter.ReadFrom(nil)")
	}
	if err := b.failed(); err != nil {
		return 0, err
	}
	if w, ok := b.w.(io.ReaderFrom); ok && b.timeout == 0 && moved(r, b.w) {
		if err := b.Flush(); err != nil {
			return 0, err
		}
		b.enter()
		defer b.leave()
		n, err := w.ReadFrom(r)
		b.written += n
		return n, err
	}
	var done int64
	for empty := 0; ; {
		if b.e == len(b.buf) {
			if err := b.grow(1); err != nil {
				return done, err
			}
		}
		n, err := b.fill(r)
		done += int64(n)
		if err == io.EOF {
			return done, nil
		}
		if err != nil {
			return done, err
		}
		if n > 0 {
			empty = 0
		} else if empty++; empty == noProgress {
			return done, io.ErrNoProgress
		}
	}
}

// fill reads once from r into the block.
func (b *BufWriter) fill(r io.Reader) (int, error) {
	buf := b.buf
	b.enter()
	defer func() { // also when r panics
		b.buf = buf
		b.leave()
	}()
	n, err := r.Read(buf[b.e:])
	if n < 0 || n > len(buf)-b.e {
		panicRead(n, len(buf)-b.e)
	}
	b.e += n
	return n, err
}

// moved reports whether the kernel can move bytes from r to w by itself.
func moved(r io.Reader, w io.Writer) bool {
	if _, ok := w.(*net.TCPConn); !ok {
		return false
	}
	if l, ok := r.(*io.LimitedReader); ok {
		r = l.R
	}
	switch r.(type) {
	case *os.File, *net.TCPConn, *net.UnixConn:
		return true
	}
	return false
}
