package sluice

import (
	"bufio"
	"io"
	"net"
	"os"
)

// Read reads what there is, up to len(p) bytes: it waits only for the first.
// It never returns 0, nil unless p is empty. Large p are read into directly.
func (b *BufReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		if b.src == nil {
			return 0, ErrClosed
		}
		return 0, nil
	}
	if b.r == b.w {
		if len(p) >= firstBlock && !b.queuing && b.src != nil && b.queued() == 0 && b.mark < 0 {
			return b.readDirect(p)
		}
		if err := b.some(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.buf[b.r:b.w])
	b.r += n
	return n, nil
}

// readDirect reads from the source into p, past the window, which is empty.
func (b *BufReader) readDirect(p []byte) (int, error) {
	r := b.src.reader()
	if r == nil {
		return 0, io.EOF
	}
	if err := b.ready(); err != nil {
		return 0, err
	}
	if b.owned {
		b.leaveBlock()
	} else {
		b.dropBlock()
	}
	for range noProgress {
		n, err := r.Read(p)
		if uint(n) > uint(len(p)) {
			panicRead(n, len(p))
		}
		if n > 0 {
			b.total += int64(n)
			b.lastByte, b.fixed = int16(p[n-1]), -1
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

// some makes the window not empty.
func (b *BufReader) some() error { return b.ensure(1) }

// WriteTo writes everything that is left to w, until io.EOF, which is not an
// error here. What is buffered goes first; when w and the source are ordinary
// connections or files, the rest is left to the kernel where it can.
func (b *BufReader) WriteTo(w io.Writer) (int64, error) {
	var done int64
	b.fixed = b.r
	for {
		for b.r < b.w {
			n, err := w.Write(b.buf[b.r:b.w:b.w])
			if n < 0 || n > b.w-b.r {
				panicWrite(n, b.w-b.r)
			}
			b.r += n
			b.fixed = b.r
			done += int64(n)
			if err == nil && b.r < b.w {
				err = io.ErrShortWrite
			}
			if err != nil {
				return done, err
			}
		}
		if b.queued() == 0 && b.err == nil && b.mark < 0 && b.x == nil && b.src != nil && spliced(b.src.reader(), w) {
			b.dropBlock()
			n, err := b.src.reader().(io.WriterTo).WriteTo(w)
			b.total += n
			return done + n, err
		}
		switch err := b.some(); err {
		case nil:
		case io.EOF:
			return done, nil
		default:
			return done, broken("WriteTo", 0, done, err)
		}
	}
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
// borrowed until yield returns; the last 4 KiB of them are waited for and
// passed at once, since many small pieces cost more than they are worth. It
// holds no more than a block, however large n is. When the stream ends or fails first, Error.Done says how many bytes
// yield was given. yield must not use the reader.
func (b *BufReader) ReadRange(n int, yield func([]byte)) error {
	if uint(n) <= uint(b.w-b.r) {
		r := b.r
		b.r = r + n
		if n > 0 {
			yield(b.buf[r : r+n : r+n])
		}
		return nil
	}
	return b.rangeSlow(n, yield)
}

//go:noinline
func (b *BufReader) rangeSlow(n int, yield func([]byte)) error {
	if n < 0 {
		return &Error{Op: "ReadRange", Limit: int64(n), Err: bufio.ErrNegativeCount}
	}
	for left := n; left > 0; {
		var err error
		if left <= inOne && !b.queuing && b.queued() == 0 {
			err = b.ensure(left)
		} else if b.r == b.w {
			err = b.some()
		}
		if err != nil && b.r == b.w {
			return broken("ReadRange", int64(n), int64(n-left), err)
		}
		p := b.buf[b.r:min(b.w, b.r+left)]
		b.r += len(p)
		left -= len(p)
		yield(p[:len(p):len(p)])
		if err != nil {
			return broken("ReadRange", int64(n), int64(n-left), err)
		}
	}
	return nil
}

// inOne is how many bytes ReadRange waits for instead of passing them on in
// pieces.
const inOne = 4 << 10

// Skip passes over the next n bytes, holding no more than a block. When the
// stream ends or fails first, Error.Done says how many bytes are gone.
func (b *BufReader) Skip(n int) error {
	if n < 0 {
		return &Error{Op: "Skip", Limit: int64(n), Err: bufio.ErrNegativeCount}
	}
	done, err := b.skip(n)
	if err != nil {
		return broken("Skip", int64(n), int64(done), err)
	}
	return nil
}

func (b *BufReader) skip(n int) (int, error) {
	left := n
	for {
		k := min(left, b.w-b.r)
		b.r += k
		left -= k
		if left == 0 {
			return n, nil
		}
		if err := b.some(); err != nil {
			return n - left, err
		}
	}
}
