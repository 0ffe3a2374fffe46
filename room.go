package sluice

import (
	"errors"

	"github.com/sluice-go/sluice/internal/sizing"
	"github.com/sluice-go/sluice/mem"
)

// vacate gives up a front that has nothing to keep: a mark may stand at its end.
func (b *BufReader) vacate() {
	if w := &b.win; w.Kept() == 0 && !w.Gathering() {
		w.Vacate()
	}
}

// vacateFed gives up what a reader that is fed does not need until it is fed again, as
// idle does before a wait.
func (b *BufReader) vacateFed() {
	if _, own := b.win.Block(); own {
		b.idle()
	} else {
		b.vacate()
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
		if err := b.moveTo(b.size.Joined(need, kept, w.Marked()), need); err != nil {
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
