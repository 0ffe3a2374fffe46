package sluice

import (
	"io"

	"github.com/sluice-go/sluice/internal/source"
)

// This is the loop that joins window, source and sizing: it makes room (room.go), waits
// with what must stay (reader_idle.go), reads, and notes what came. All calls come down
// to want.
//
// The window changes after a source has returned, so that a source that
// panics leaves a reader that is right.

// noProgress is how many reads of nothing in a row end in io.ErrNoProgress, as
// in bufio.
const noProgress = 100

// want brings n contiguous bytes to the window's front. If that fails, the
// bytes that are there stay.
func (b *BufReader) want(n int) error {
	b.size.Open = false
	return b.wantMore(n)
}

// wantLine is want for a caller that does not know yet how many bytes it needs.
func (b *BufReader) wantLine(n int) error {
	b.size.Open = true
	return b.wantMore(n)
}

// fill is the fast path of want, for the usual case: it reads from an io.Reader
// into a block that is not empty. It reports whether n bytes are there; if not,
// wantMore goes on from what there is.
func (b *BufReader) fill(n int) bool {
	w := &b.win
	if !b.straight || b.err != nil || !w.Fillable() {
		return false
	}
	at, end, length := w.W, w.R+n, len(w.Buf)
	if have := at - w.R; end > length || length-at < length/8 || have == 0 {
		if !b.slide(n, have) {
			return false
		}
		at, end = w.W, w.R+n
	}
	limit := length
	if b.size.Stops(length) {
		limit = b.size.Limit(length, end, n)
	}
	from, epoch, src := at, b.epoch, b.enter()
	buf := w.Buf[:limit:limit]
	for {
		got, err := src.Read(buf[at:])
		if uint(got) > uint(limit-at) {
			panicRead(got, limit-at)
		}
		if b.epoch != epoch {
			panicReset()
		}
		at += got
		w.W = at
		if err != nil {
			b.err = err
			break
		}
		if at >= end || got == 0 {
			break
		}
	}
	b.leave()
	b.size.More(n, at-from, limit-from, length)
	return at >= end
}

// slide makes room for n bytes in the block that the front is in, if that will
// do.
func (b *BufReader) slide(n, have int) bool {
	w := &b.win
	length := len(w.Buf)
	tight := w.R+n > length || !b.size.Tail(length-w.W, length)
	switch shared := w.Shared(); {
	case have == 0 && (b.waits || length > 2*b.size.Want()):
		return false
	case tight && (shared || n > length/2 || length < b.size.Want()):
		return false
	case !shared && (tight || have == 0):
		w.Slide()
	}
	return true
}

func (b *BufReader) wantMore(n int) error {
	if b.fill(n) {
		return nil
	}
	w := &b.win
	b.size.Asked(n)
	for w.W-w.R < n {
		if b.kind == closed {
			return ErrClosed
		}
		if err := b.marked(n); err != nil {
			return err
		}
		if w.W == w.R {
			w.Show()
		}
		switch {
		case w.W-w.R >= n:
		case w.Len() >= n:
			if err := b.join(n); err != nil {
				return err
			}
		case b.kind == raw && b.x == nil && b.err == nil:
			// As in receive, with less of the stack, see readRaw.
			if err := b.readRaw(n, false); err != nil {
				return err
			}
		default:
			if err := b.receive(n, false); err != nil {
				return err
			}
		}
	}
	b.size.Came(n)
	return nil
}

// receive brings at least one byte, on the way to n. Unless scattered they are
// to be contiguous.
func (b *BufReader) receive(n int, scattered bool) error {
	if err := b.late(); err != nil {
		b.idle()
		return err
	}
	if b.x != nil {
		if err := b.x.arm(b); err != nil {
			return err
		}
	}
	var err error
	switch b.kind {
	case plain:
		err = b.readPlain(n, scattered)
	case raw:
		err = b.readRaw(n, scattered)
	case mouth:
		b.vacate()
		err = b.takeMouth()
	case fed:
		b.vacateFed()
		err = b.feed.Load().end
	case ended:
		b.vacate()
		err = io.EOF
	default:
		err = ErrClosed
	}
	if err != nil && b.x != nil {
		err = b.x.explain(err)
	}
	return err
}

// late returns, once, the error that came with the latest bytes.
func (b *BufReader) late() error {
	err := b.err
	b.err = nil
	if err != nil && b.x != nil {
		err = b.x.explain(err)
	}
	return err
}

// readPlain reads from an io.Reader. It repeats Read until the requested bytes
// are there, which is cheaper than returning after each Read. With a timeout or
// a context it returns after each.
func (b *BufReader) readPlain(n int, scattered bool) error {
	b.undisturbed()
	room, err := b.room(n, scattered)
	if err != nil {
		return err
	}
	if b.asks {
		// Deferred: a source that panics must not leave these bytes counted as idle.
		b.beginIdle()
		defer b.endIdle()
	}
	enough := 1
	if b.unwatched() {
		enough = min(n-b.win.Len(), len(room))
	}
	epoch, length, src := b.epoch, b.blockLength(), b.enter()
	got := 0
	for empty := 0; got < enough && err == nil; {
		var k int
		k, err = src.Read(room[got:])
		if uint(k) > uint(len(room)-got) {
			panicRead(k, len(room)-got)
		}
		if b.epoch != epoch {
			panicReset()
		}
		b.win.Filled(k)
		if got += k; k > 0 {
			empty = 0
		} else if empty++; empty == noProgress && err == nil {
			err = io.ErrNoProgress
		}
	}
	b.leave()
	if got == 0 {
		b.idle()
		return err
	}
	b.size.Saw(got, len(room), length)
	if b.asks {
		b.keep(b.held())
	}
	b.err = err
	return nil
}

// readRaw reads from a connection's descriptor. While it waits, the reader holds
// only the memory that it must keep, and its goroutine is to stay within the 2 KiB of
// stack that it began with: what happens before and after is done in calls that return.
func (b *BufReader) readRaw(n int, scattered bool) error {
	for {
		if err := b.raw.Open((*memory)(b)); err != nil {
			return b.came(0, 0, err)
		}
		room, err := b.room(n, scattered)
		if err != nil {
			return err
		}
		b.raw.Offer(room)
		b.plan(n, scattered)
		epoch := b.epoch
		got, offered, err := b.raw.Read()
		if b.epoch != epoch {
			panicReset()
		}
		if err != source.ErrAgain {
			return b.came(got, offered, err)
		}
		b.endIdle()
	}
}

// plan decides how much memory is taken after a wait for n bytes.
//
//go:noinline
func (b *BufReader) plan(n int, scattered bool) {
	b.after = 0
	if b.win.Simple() && !scattered && b.size.Direct(n, 0) {
		// A larger request is gathered block by block, after a wait too.
		b.after = int32(max(n, b.size.Want()))
	}
}

// came notes what a read of a descriptor brought.
//
//go:noinline
func (b *BufReader) came(got, offered int, err error) error {
	b.endIdle()
	if err != nil {
		b.idle()
		return err
	}
	b.win.Filled(got)
	b.size.Saw(got, offered, b.blockLength())
	if b.asks {
		b.keep(b.held())
	}
	return nil
}
