package sluice

import (
	"bufio"
	"cmp"
	"io"
	"net"
	"os"

	"github.com/sluice-go/sluice/internal/sizing"
)

// Read reads what there is, up to len(p) bytes: it waits only for the first.
// It never returns 0, nil unless p is empty. Large p are read into directly. p is borrowed until
// Read returns, as far as the source does.
func (b *BufReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		if b.kind == closed {
			return 0, ErrClosed
		}
		return 0, nil
	}
	w := &b.win
	if w.R == w.W {
		if len(p) >= sizing.FirstBlock && (b.kind == plain || b.kind == raw) && w.Idle() {
			return b.readDirect(p)
		}
		if err := b.want(1); err != nil {
			return 0, err
		}
	}
	n := copy(p, w.Buf[w.R:w.W])
	w.R += n
	return n, nil
}

// readDirect reads from the source into p, past the window, which is empty.
func (b *BufReader) readDirect(p []byte) (int, error) {
	b.undisturbed()
	if err := b.late(); err != nil {
		return 0, err
	}
	if b.x != nil {
		if err := b.x.arm(b); err != nil {
			return 0, err
		}
	}
	b.win.Park(b.size.WorthParking())
	b.beginIdle()
	defer b.endIdle()
	r, epoch := b.enter(), b.epoch
	defer b.leave()
	for range noProgress {
		n, err := r.Read(p)
		if uint(n) > uint(len(p)) {
			panicRead(n, len(p))
		}
		if b.epoch != epoch {
			panicReset()
		}
		if n > 0 {
			b.win.Passed(int64(n), p[n-1])
			b.err = err
			return n, nil
		}
		if err != nil {
			if b.x != nil {
				err = b.x.explain(err)
			}
			return 0, err
		}
	}
	return 0, io.ErrNoProgress
}

// WriteTo writes everything that is left to w, until io.EOF, which is not an
// error here. What is buffered goes first; when w and the source are ordinary
// connections or files, the rest is left to the kernel where it can, but for a reader with a
// timeout or a context: the kernel's copy would not follow these. A w that recycles or resets
// the reader ends the call, with ErrClosed unless it fails itself.
func (b *BufReader) WriteTo(w io.Writer) (int64, error) {
	if w == nil {
		panic("sluice: BufReader.WriteTo(nil)")
	}
	var done int64
	b.undisturbed()
	v := &b.win
	v.Fix()
	for {
		for v.R < v.W {
			p, epoch := v.View(), b.epoch
			n, err := b.writeHeld(w, p)
			done += int64(n)
			if err == nil && n < len(p) {
				err = io.ErrShortWrite
			}
			if b.epoch != epoch { // a writer that fails may have ended the reader
				return done, cmp.Or(err, ErrClosed)
			}
			v.R += n
			v.Fix()
			if err != nil {
				return done, err
			}
		}
		if v.Idle() && b.err == nil && b.unwatched() && spliced(b.src, w) {
			v.Vacate()
			n, err := b.src.(io.WriterTo).WriteTo(w)
			v.PassedUnseen(n)
			return done + n, err
		}
		switch err := b.want(1); err {
		case nil:
		case io.EOF:
			return done, nil
		default:
			return done, broken("WriteTo", 0, done, err)
		}
	}
}

// writeHeld writes p, the front, and keeps its block alive meanwhile: w must not be
// left with bytes of another owner when the reader is recycled under it.
func (b *BufReader) writeHeld(w io.Writer, p []byte) (int, error) {
	if b.win.Holds() {
		hold := b.win.Cut(0)
		defer hold.Release()
	}
	n, err := w.Write(p)
	if n < 0 || n > len(p) {
		panicWrite(n, len(p))
	}
	return n, err
}

// spliced reports whether the kernel can move bytes from r to w by itself.
func spliced(r io.Reader, w io.Writer) bool {
	if _, ok := r.(io.WriterTo); !ok {
		return false
	}
	switch w.(type) {
	case *net.TCPConn, *net.UnixConn:
	default:
		return false
	}
	switch r.(type) {
	case *net.TCPConn, *net.UnixConn, *os.File:
		return true
	}
	return false
}

// ReadRange passes the next n bytes to yield as they come, in pieces that are
// borrowed until yield returns. It waits for the last 4 KiB and passes them at
// once, because many small pieces cost more. It holds no more than a block,
// however large n is. When the stream ends or fails first, Error.Done says how
// many bytes yield was given. A yield that reads from the reader, or ends it,
// panics.
func (b *BufReader) ReadRange(n int, yield func([]byte)) error {
	if uint(n-1) < uint(b.win.W-b.win.R) && yield != nil {
		p := b.take(n)
		r := b.win.R
		yield(p)
		if b.win.R != r {
			panicYield()
		}
		return nil
	}
	return b.rangeSlow(n, yield)
}

//go:noinline
func (b *BufReader) rangeSlow(n int, yield func([]byte)) error {
	if yield == nil {
		panic("sluice: BufReader.ReadRange with a nil function")
	}
	if n < 0 {
		return &Error{op: "ReadRange", limit: int64(n), Err: bufio.ErrNegativeCount}
	}
	w := &b.win
	for left := n; left > 0; {
		var err error
		if left <= inOne && b.kind != mouth && b.kind != fed && w.Queued() == 0 {
			err = b.want(left)
		} else if w.R == w.W {
			err = b.want(1)
		}
		if err != nil && w.R == w.W {
			return broken("ReadRange", int64(n), int64(n-left), err)
		}
		k := min(w.W-w.R, left)
		left -= k
		_ = b.ReadRange(k, yield) // these have come
		if err != nil {
			return broken("ReadRange", int64(n), int64(n-left), err)
		}
	}
	return nil
}

//go:noinline
func panicYield() {
	panic("sluice: BufReader was used by the function that its ReadRange had called")
}

// inOne is how many bytes ReadRange waits for instead of passing them on in
// pieces.
const inOne = 4 << 10

// Skip passes over the next n bytes, holding no more than a block. When the
// stream ends or fails first, Error.Done says how many bytes are gone.
func (b *BufReader) Skip(n int) error {
	if uint(n) > uint(b.win.W-b.win.R) {
		return b.skipSlow(n)
	}
	b.win.R += n
	return nil
}

//go:noinline
func (b *BufReader) skipSlow(n int) error {
	if n < 0 {
		return &Error{op: "Skip", limit: int64(n), Err: bufio.ErrNegativeCount}
	}
	done, err := b.skip(n)
	if err != nil {
		return broken("Skip", int64(n), int64(done), err)
	}
	return nil
}

// Discard skips the next n bytes and returns how many it skipped: fewer than
// n only with the reason, which as with bufio is io.EOF also in the middle.
func (b *BufReader) Discard(n int) (int, error) {
	if n < 0 {
		return 0, bufio.ErrNegativeCount
	}
	if n == 0 {
		return 0, nil // UnreadByte stays possible, as with bufio
	}
	done, err := b.skip(n)
	b.win.Fix()
	return done, err
}

func (b *BufReader) skip(n int) (int, error) {
	w := &b.win
	left := n
	for {
		k := min(left, w.W-w.R)
		w.R += k
		left -= k
		if left == 0 {
			return n, nil
		}
		if err := b.want(1); err != nil {
			return n - left, err
		}
	}
}
