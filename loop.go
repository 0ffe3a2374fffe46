package sluice

import (
	"errors"
	"io"

	"github.com/sluice-go/sluice/internal/sizing"
	"github.com/sluice-go/sluice/internal/source"
	"github.com/sluice-go/sluice/mem"
)

// This is the loop that joins window, source and sizing: it makes room, waits
// and reads, and notes what came. All calls come down to want.
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
	from, epoch, src := at, b.epoch, b.src
	if b.guard != open {
		src = b.guarded()
	}
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
		b.vacate()
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
	epoch, length, src := b.epoch, b.blockLength(), b.src
	if b.guard != open {
		src = b.guarded()
	}
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
	if got == 0 {
		b.idle()
		return err
	}
	b.size.Saw(got, len(room), length)
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
	return nil
}

// memory is the reader as the raw source sees it: a source.Memory.
type memory BufReader

// Conn returns what the reader reads from.
func (m *memory) Conn() io.Reader { return m.src }

// Drop gives memory back before a wait.
func (m *memory) Drop() {
	b := (*BufReader)(m)
	if w := &b.win; b.after == 0 || w.R != w.W || w.Shared() {
		b.after = 0
		b.idle()
	} else {
		w.Empty()
	}
	b.beginIdle()
}

// Take returns memory to read into after a wait, or nil when that takes more
// than a cached block.
func (m *memory) Take() []byte {
	b := (*BufReader)(m)
	if b.after == 0 || b.kind != raw || b.win.Parked() {
		return nil
	}
	s := cachedSlab(b.alloc, int(b.after))
	if !s.Valid() {
		return nil
	}
	return b.win.Begin(s, b.size.Length(len(s.Bytes()), int(b.after)))
}

// idle gives back the memory that a wait does not need: all of it when nothing
// is buffered, most of it when only a few bytes are.
func (b *BufReader) idle() {
	w := &b.win
	if w.Gathering() {
		w.Spare()
		return
	}
	length, own := w.Block()
	switch kept := w.Kept(); {
	case !own:
	case kept == 0:
		w.Park(b.size.WorthParking())
	case b.size.Little(kept, length):
		b.stash(kept)
	}
}

// stash moves what must stay into the smallest block that holds it. It does not
// ask the budget, because it gives more memory back than it takes.
func (b *BufReader) stash(kept int) {
	b.win.Stash(b.alloc.Slab(kept), b.size.WorthParking())
}

// vacate gives up a front that has nothing to keep: a mark may stand at its end.
func (b *BufReader) vacate() {
	if w := &b.win; w.Kept() == 0 && !w.Gathering() {
		w.Vacate()
	}
}

// blockLength is how long the memory is that the next byte goes into.
func (b *BufReader) blockLength() int {
	if length, own := b.win.Block(); own && b.win.Simple() {
		return length
	}
	return sizing.MaxBlock
}

// room returns where the next bytes go, on the way to n. Unless scattered they
// are to be contiguous.
func (b *BufReader) room(n int, scattered bool) ([]byte, error) {
	w := &b.win
	kept := w.Kept()
	need := w.Before() + n
	if b.asks {
		b.press(n)
	}
	if w.Gathering() || scattered || !b.size.Direct(need, kept) {
		return b.gatherRoom(n)
	}
	if size := b.frontSize(need, kept); size > 0 {
		if err := b.moveTo(size, need); err != nil {
			return nil, err
		}
	}
	base := w.W - w.Kept()
	length, _ := w.Block()
	end := b.size.Limit(length, base+need, n)
	return w.Buf[w.W:end:end], nil
}

// press looks at the budget before n bytes are read.
func (b *BufReader) press(n int) {
	_, b.size.Pressed = budget(b.alloc)
	if b.x == nil || b.x.halt == nil {
		return
	}
	// What comes before an item is seen when it is the first of a batch.
	at := b.win.Received() - int64(b.win.Len())
	if batch := &b.x.halt.batch; b.win.Idle() {
		*batch = at
	} else {
		b.size.Begins(at-*batch, n)
	}
}

// frontSize makes room for need bytes, kept of which are there, in the front's
// memory and returns 0, or returns the size of the block to move to.
func (b *BufReader) frontSize(need, kept int) int {
	w := &b.win
	length, own := w.Block()
	tail := length - w.W
	if kept == 0 {
		size := b.size.Fresh(need, b.waits)
		if own && !b.size.Pressed {
			if !w.Shared() {
				if b.size.Suits(length, size, need, b.waits) {
					w.Slide()
					return 0
				}
			} else if tail >= need && tail >= size/8 && length <= 8*size {
				return 0
			}
		}
		// Under pressure the next in the queue gets the block.
		w.Park(b.size.WorthParking())
		return size
	}
	size := b.size.Grown(need, kept)
	switch base := w.W - kept; {
	case !own:
	case b.size.Pressed && length >= 4*size && !w.Shared():
		// Without asking the budget: this gives back more than it takes.
		s := b.alloc.Slab(size)
		w.Move(s, 0, len(s.Bytes()))
		return 0
	case base+need <= length && (b.size.Tail(tail, length) || kept >= length/8):
		return 0
	case length >= need && length > size/2 && !w.Shared():
		w.Slide()
		return 0
	}
	return size
}

// moveTo moves what must stay to where need bytes fit: into the tail of a
// parked block if that is still alive and large enough, else into a new block of
// size bytes.
func (b *BufReader) moveTo(size, need int) error {
	if !b.size.Pressed && b.win.Unpark(need) {
		return nil
	}
	s, err := b.acquire(size, need)
	if err != nil {
		return err
	}
	b.win.Move(s, 0, b.size.Length(len(s.Bytes()), max(size, need)))
	return nil
}

// gatherRoom returns the room for a request too large to allocate before its
// bytes arrive: the peer's length is not trusted. It fills block after block, so
// that the reader holds what has arrived and one block.
func (b *BufReader) gatherRoom(n int) ([]byte, error) {
	w := &b.win
	left := n - w.Len()
	if !w.Gathering() {
		// Do not hold the front's block while the rest arrives: gathering may
		// take as long as the peer needs.
		length, own := w.Block()
		switch kept := w.Kept(); {
		case !own || b.size.Pinned():
		case kept == 0:
			w.Park(b.size.WorthParking())
		case kept <= length/4 && length > sizing.MinBlock:
			b.stash(kept)
		}
	}
	room := w.Room()
	if len(room) == 0 || !w.Gathering() && len(room) < min(left, sizing.FirstBlock) {
		s, err := b.acquire(b.size.Gather(left, w.Len()), min(sizing.FirstBlock, left))
		if err != nil {
			return nil, err
		}
		w.AddBlock(s, len(s.Bytes()))
		room = w.Room()
	}
	return room[:min(len(room), left)], nil
}

// join makes the front n contiguous bytes out of itself and the pieces behind
// it, which have as many.
func (b *BufReader) join(n int) error {
	w := &b.win
	kept := w.Kept()
	need := w.Before() + n
	length, own := w.Block()
	if !own || w.W-kept+need > length {
		size := need
		if w.Marked() {
			size = max(need, 2*kept)
		}
		if err := b.moveTo(size, need); err != nil {
			return err
		}
	}
	w.Join(n)
	return nil
}

// shares: under pressure a reader gets more than it needs for the current item
// only if the budget has room for this many such blocks.
const shares = 16

// acquire returns a block of size bytes, or of least when the budget has no
// room for size. If there is no room for least either, it waits in the queue; a
// reader that is fed gets the error instead.
func (b *BufReader) acquire(size, least int) (mem.Slab, error) {
	if b.size.Pressed && b.kind != fed {
		if limit, _ := budget(b.alloc); int64(size) > limit/shares {
			size = least
		}
		return b.awaitSlab(size)
	}
	s, err := b.alloc.TrySlab(size)
	if err == nil {
		return s, nil
	}
	if least < size {
		if s, err = b.alloc.TrySlab(least); err == nil {
			return s, nil
		}
	}
	if !errors.Is(err, mem.ErrBudget) || b.kind == fed {
		return mem.Slab{}, err
	}
	b.size.Pressed = true
	return b.awaitSlab(least)
}
