package sluice

import (
	"io"
	"net"
	"os"
	"time"
)

// Flush sends everything that waits, and returns when it is out. When that
// fails, Error.Done says how many of the bytes went out, and the error stays.
func (b *BufWriter) Flush() error {
	_, err := b.flush("Flush", false)
	return err
}

// flush sends what waits and returns how much went out. The block is kept for
// what follows when more is sure to come.
func (b *BufWriter) flush(op string, more bool) (int64, error) {
	if err := b.failed(); err != nil {
		return 0, err
	}
	b.seal()
	if b.waiting == 0 {
		b.dropBlock()
		return 0, nil
	}
	var out int64
	err := b.deadline()
	if err == nil {
		if b.gathers && len(b.pieces) > 1 {
			b.eaten = b.pieces
			out, err = b.eaten.WriteTo(b.w)
			b.eaten = nil
		} else {
			out, err = b.writePieces()
		}
	}
	b.written += out
	if err == nil && out < int64(b.waiting) {
		err = io.ErrShortWrite
	}
	if err != nil {
		err = &Error{Op: op, Limit: int64(b.waiting), Done: out, Err: err}
		b.err = err
	}
	if b.waiting < b.size/4 {
		b.size = max(b.size/2, firstBlock)
	}
	b.dropPieces()
	if more && err == nil && b.slab.Valid() && !b.slab.Shared() {
		b.window()
	} else {
		b.dropBlock()
	}
	return out, err
}

func (b *BufWriter) deadline() error {
	if b.timeout == 0 {
		return nil
	}
	return b.w.(interface{ SetWriteDeadline(time.Time) error }).SetWriteDeadline(time.Now().Add(b.timeout))
}

// writePieces sends the pieces in one Write each, short neighbours together.
func (b *BufWriter) writePieces() (int64, error) {
	var out int64
	write := func(p []byte) error {
		n, err := b.w.Write(p)
		if n < 0 || n > len(p) {
			panicWrite(n, len(p))
		}
		out += int64(n)
		if err == nil && n < len(p) {
			err = io.ErrShortWrite
		}
		return err
	}
	for i := 0; i < len(b.pieces); {
		j, sum := i, 0
		for j < len(b.pieces) && sum+len(b.pieces[j]) <= together {
			sum += len(b.pieces[j])
			j++
		}
		if j <= i+1 {
			if err := write(b.pieces[i]); err != nil {
				return out, err
			}
			i++
			continue
		}
		room := b.alloc.Get(sum)
		p := room.Bytes()
		for n := 0; i < j; i++ {
			n += copy(p[n:], b.pieces[i])
		}
		err := write(p)
		room.Release()
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// seal makes what was copied a piece.
func (b *BufWriter) seal() {
	if b.s == b.e {
		return
	}
	b.pieces = append(b.pieces, b.buf[b.s:b.e:b.e])
	b.waiting += b.e - b.s
	b.s = b.e
}

// grow makes room for copies: the block is full or there is none.
func (b *BufWriter) grow() error {
	if b.Buffered() >= b.bound {
		if _, err := b.flush("Flush", true); err != nil {
			return err
		}
		if b.slab.Valid() && len(b.buf) >= min(b.size, b.bound) {
			return nil
		}
	}
	b.seal()
	if b.slab.Valid() {
		b.size = min(4*b.size, maxBlock)
		if b.s > 0 && len(b.pieces) > 0 {
			b.bufs = append(b.bufs, b.slab.Cut(0, 0))
		}
		b.dropBlock()
	}
	b.slab = b.alloc.Slab(min(b.size, b.Available()))
	b.window()
	return nil
}

// window makes the block's memory, none of which waits, the room for copies,
// as far as the bound allows.
func (b *BufWriter) window() {
	p := b.slab.Bytes()
	b.buf, b.s, b.e = p[:min(len(p), b.Available())], 0, 0
}

func (b *BufWriter) dropBlock() {
	if b.slab.Valid() {
		b.slab.Release()
	}
	b.buf, b.s, b.e = nil, 0, 0
}

// dropPieces releases everything that was to be sent.
func (b *BufWriter) dropPieces() {
	many := len(b.pieces) > keepPieces
	clear(b.pieces)
	b.pieces, b.waiting = b.pieces[:0], 0
	for i := range b.bufs {
		b.bufs[i].Release()
	}
	b.bufs = b.bufs[:0]
	for i, m := range b.memories {
		m.Release()
		b.memories[i] = nil
	}
	b.memories = b.memories[:0]
	if many {
		b.pieces, b.bufs, b.memories = nil, nil, nil
	}
}

// keepPieces is how many pieces a Flush may have had for the lists to be kept
// for the next: what an idle writer keeps is bounded.
const keepPieces = 64

// ReadFrom writes everything that r has, until io.EOF. From a file or
// connection to a TCP connection the kernel moves the bytes where it can
// (sendfile, splice), after what waits went out; otherwise, and always when a
// timeout is set, which the kernel's way would not start anew for each part,
// they are read into the writer's block, and the last of them wait for Flush.
//
// An error of r is returned as it is, and is not sticky; nor is one of the
// kernel's way, which does not say whose it was. io.Copy of a file or
// connection passes it on in a wrapping that hides what it is, so that only a
// call of ReadFrom takes that way.
func (b *BufWriter) ReadFrom(r io.Reader) (int64, error) {
	if err := b.failed(); err != nil {
		return 0, err
	}
	if w, ok := b.w.(io.ReaderFrom); ok && b.timeout == 0 && moved(r, b.w) {
		if err := b.Flush(); err != nil {
			return 0, err
		}
		n, err := w.ReadFrom(r)
		b.written += n
		return n, err
	}
	var done int64
	for empty := 0; ; {
		if b.e == len(b.buf) {
			if err := b.grow(); err != nil {
				return done, err
			}
		}
		room := b.buf[b.e:]
		n, err := r.Read(room)
		if n < 0 || n > len(room) {
			panicRead(n, len(room))
		}
		b.e += n
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
