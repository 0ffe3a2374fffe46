package sluice

import "github.com/sluice-go/sluice/mem"

// base is where the bytes begin that must stay: at the mark or at the window.
func (b *BufReader) base() int {
	if b.mark >= 0 {
		return b.mark
	}
	return b.r
}

// ensure brings the window to at least n contiguous bytes. What it has when
// that fails is still there.
func (b *BufReader) ensure(n int) error {
	if b.plain != nil && b.straight(n) {
		return nil
	}
	b.size.asked(n)
	for b.w-b.r < n {
		if b.src == nil {
			return ErrClosed
		}
		if err := b.marked(n); err != nil {
			return err
		}
		queued := b.queued()
		if queued > 0 && b.r == b.w && b.mark < 0 {
			b.adopt()
			continue
		}
		if queued == 0 && b.direct(n) {
			if err := b.pull(n); err != nil {
				return err
			}
			continue
		}
		if err := b.gather(n); err != nil {
			return err
		}
		if b.r == b.w && b.mark < 0 {
			continue
		}
		if err := b.merge(n); err != nil {
			return err
		}
	}
	b.size.came(n)
	return nil
}

// straight is the usual way to n bytes, spelled out: a window that is not
// empty gets more from an io.Reader, in the block that it is in. It reports
// whether n bytes are there; if not, ensure goes on from what there is.
func (b *BufReader) straight(n int) bool {
	if b.x != nil && !b.x.plain(n) || b.err != nil || !b.owned || b.mark >= 0 || b.r == b.w {
		return false
	}
	size := len(b.buf)
	if n > size-b.r || size-b.w < size/8 && !b.size.stops(size) {
		if n > size/2 || size < int(b.size.block) || b.slab.Shared() {
			return false
		}
		b.forget()
		b.rebase(0, copy(b.buf, b.buf[b.r:b.w]))
	}
	end := b.r + n
	limit := b.size.limit(size, end)
	if limit < end {
		return false
	}
	if n > int(b.size.frame) {
		b.size.frame = int32(min(n, mostFrame))
	}
	w := b.w
	p := b.buf[w:limit:limit]
	got, err := b.plain.r.Read(p)
	if uint(got) > uint(len(p)) {
		panicRead(got, len(p))
	}
	if w+got < end && err == nil {
		var rest int
		rest, err = b.plain.fill(p[got:], end-w-got)
		got += rest
	}
	b.err = err
	b.w = w + got
	b.total += int64(got)
	b.size.read(got, len(p), size)
	return b.w >= end
}

// direct reports whether n contiguous bytes may be read straight into one
// block. Otherwise they are gathered in small ones first, so that a peer has
// to send what it makes us hold.
func (b *BufReader) direct(n int) bool {
	if b.queuing {
		return false
	}
	base := b.base()
	need := b.r - base + n
	return need <= max(maxBlock, b.size.want(), 2*(b.w-base))
}

// pull brings at least one byte, to where n contiguous ones are wanted.
func (b *BufReader) pull(n int) error {
	if b.src == nil {
		return ErrClosed
	}
	if err := b.ready(); err != nil {
		return err
	}
	b.need = n
	err := b.src.fetch(b)
	if err != nil && b.x != nil {
		err = b.x.explain(err)
	}
	return err
}

// ready returns the error that came with the latest bytes, which are used up,
// and prepares for a wait.
func (b *BufReader) ready() error {
	if err := b.err; err != nil {
		b.err = nil
		return err
	}
	if b.x != nil {
		return b.x.arm(b)
	}
	return nil
}

// room returns where the bytes of the fetch under way go. The only error is
// ErrBudget.
func (b *BufReader) room() ([]byte, error) {
	if b.x != nil && b.x.gather.on {
		return b.x.gather.room(b)
	}
	base := b.base()
	have := b.w - base
	need := b.r - base + b.need
	if have == 0 {
		if err := b.fresh(need); err != nil {
			return nil, err
		}
	} else if tail := len(b.buf) - b.w; !b.owned || base+need > len(b.buf) || tail < len(b.buf)/8 && have < len(b.buf)/8 && !b.size.stops(len(b.buf)) {
		if err := b.move(need, have); err != nil {
			return nil, err
		}
	}
	end := b.size.limit(len(b.buf), b.base()+need)
	if end <= b.w {
		end = len(b.buf)
	}
	return b.buf[b.w:end:end], nil
}

// received notes n bytes read into what room returned.
func (b *BufReader) received(n, room int) {
	b.total += int64(n)
	if b.x != nil && b.x.gather.on {
		b.x.gather.n += n
		b.size.drained = n < room
		return
	}
	b.w += n
	b.size.read(n, room, len(b.buf))
}

// fresh makes a window that is empty ready for need bytes, in the block at
// hand if it will do.
func (b *BufReader) fresh(need int) error {
	size := max(b.size.want(), need)
	if b.size.probing {
		size = max(minBlock, need)
	}
	if b.slab.Valid() && b.owned {
		if !b.slab.Shared() {
			if n := len(b.buf); n >= need && n > size/2 && n <= 2*size && !(b.size.probing && n > size) {
				b.forget()
				b.rebase(0, 0)
				return nil
			}
		} else if tail := len(b.buf) - b.w; tail >= need && tail >= size/8 && (!b.size.probing || len(b.buf) <= minBlock) {
			return nil
		}
	}
	b.leaveBlock()
	return b.moveTo(size, need, 0)
}

// move brings what must stay, have bytes, to the front of a block that holds
// need.
func (b *BufReader) move(need, have int) error {
	base := b.base()
	size := max(b.size.want(), need)
	if b.owned && !b.slab.Shared() && len(b.buf) >= need && len(b.buf) > size/2 {
		b.forget()
		copy(b.buf, b.buf[base:b.w])
		b.rebase(b.r-base, have)
		return nil
	}
	return b.moveTo(size, need, have)
}

// moveTo moves what must stay, have bytes, to where need bytes fit: into the
// tail of the parked block if that lives and will do, else into a new block of
// size bytes.
func (b *BufReader) moveTo(size, need, have int) error {
	if size < 2*have && (b.size.pinned > 0 || size > exactAbove) {
		// Not just large enough: bytes that come one by one would otherwise be
		// moved for each.
		size = 2 * have
	}
	slab, at, length, err := b.target(size, need)
	if err != nil {
		return err
	}
	base := b.base()
	copy(slab.Bytes()[at:], b.buf[base:b.w])
	r := b.r - base
	b.dropBlock()
	b.slab, b.owned = slab, true
	b.buf = slab.Bytes()[:length]
	b.rebase(r, have)
	if at > 0 {
		b.shift(at)
	}
	return nil
}

// target returns a block with need bytes of room from at up to length.
func (b *BufReader) target(size, need int) (slab mem.Slab, at, length int, err error) {
	if b.x != nil && b.x.parkedAt > 0 && !b.size.probing {
		if slab, at, length, ok := b.x.unpark(need); ok {
			return slab, at, length, nil
		}
	}
	if slab, err = b.alloc.TrySlab(size); err != nil && need < size {
		// A budget that is nearly used up need not stop a reader that can do
		// with less.
		size = need
		slab, err = b.alloc.TrySlab(size)
	}
	if err != nil {
		return slab, 0, 0, err
	}
	length = len(slab.Bytes())
	if b.size.pinned > 0 {
		length = size
	}
	return slab, 0, length, nil
}

// shift moves all places in the window's block up by n.
func (b *BufReader) shift(n int) {
	b.r, b.w, b.lo = b.r+n, b.w+n, b.lo+n
	if b.fixed >= 0 {
		b.fixed += n
	}
	if b.mark >= 0 {
		b.mark += n
	}
}

// rebase sets the window after what must stay was moved to the block's front.
func (b *BufReader) rebase(r, w int) {
	if b.fixed == b.r {
		b.fixed = r
	} else {
		b.fixed = -1
	}
	if b.mark >= 0 {
		b.mark = 0
	}
	b.r, b.w, b.lo = r, w, 0
}

// dropBlock lets the current block go, and the window with it.
func (b *BufReader) dropBlock() {
	b.forget()
	if b.slab.Valid() {
		b.slab.Release()
	}
	b.buf, b.owned = nil, false
	b.rebase(0, 0)
}

// forget keeps the last consumed byte for UnreadByte before the bytes under
// the window go away.
func (b *BufReader) forget() {
	if b.r > b.lo {
		b.lastByte = int16(b.buf[b.r-1])
	}
}

// idle gives memory back before a wait: all of it when nothing is buffered,
// most of it when that is little.
func (b *BufReader) idle() {
	if b.x != nil && b.x.gather.on {
		b.x.gather.idle()
		return
	}
	have := b.w - b.base()
	switch {
	case !b.slab.Valid() || !b.owned:
	case have == 0:
		b.leaveBlock()
	case have <= len(b.buf)/8 && have <= firstBlock && len(b.buf) > minBlock && b.size.pinned == 0:
		b.stash(have)
	}
}

// stash moves a few bytes into the smallest block that holds them.
func (b *BufReader) stash(have int) {
	slab, err := b.alloc.TrySlab(have)
	if err != nil {
		// No room in the budget for a smaller block: the larger one stays.
		return
	}
	base := b.base()
	copy(slab.Bytes(), b.buf[base:b.w])
	r, marked := b.r-base, b.mark >= 0
	b.leaveBlock()
	b.slab, b.owned = slab, true
	b.buf = slab.Bytes()
	if marked {
		b.mark = 0
	}
	b.rebase(r, have)
}

// leaveBlock lets the current block go, so that its tail can be filled later
// if others keep it alive until then.
func (b *BufReader) leaveBlock() {
	if b.slab.Valid() && b.owned && len(b.buf)-b.w >= max(b.size.want()/4, minBlock) && b.slab.Shared() {
		b.extras().park(b)
		return
	}
	b.dropBlock()
}
