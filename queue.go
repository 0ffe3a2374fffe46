package sluice

import (
	"context"
	"math"
	"time"

	"github.com/sluice-go/sluice/mem"
)

// extra is what most readers never need, kept out of the struct so that an
// idle connection does not pay for it.
type extra struct {
	limits  Limits
	timeout time.Duration
	ctx     context.Context
	stop    func() // ends the context's hold on the connection

	// queue[head:] follows the window: bytes that came in blocks of their own.
	queue  []mem.Buf
	head   int
	queued int // bytes in it

	gather gather
	parked mem.Parked
	// parkedAt is where the parked block was filled to, 0 when none is parked.
	parkedAt, parkedLen int
}

func (b *BufReader) extras() *extra {
	if b.x == nil {
		b.x = &extra{limits: defaults}
	}
	return b.x
}

// plain reports whether nothing here stands in the way of reading n bytes
// without further ado.
func (x *extra) plain(n int) bool {
	return x.queued == 0 && !x.gather.on && x.timeout == 0 && x.ctx == nil && n <= x.limits.Frame
}

func (b *BufReader) queued() int {
	if b.x == nil {
		return 0
	}
	return b.x.queued
}

// enqueue puts buf, transferred, behind all that has been received.
func (x *extra) enqueue(buf mem.Buf) {
	x.queued += buf.Len()
	x.queue = append(x.queue, buf)
}

// bringTogether is up to where pieces that are copied into the queue become
// one: what comes byte by byte does not take the smallest block for each.
const bringTogether = 2 * minBlock

// enqueueCopy puts a copy of p behind all that has been received. The only
// error is ErrBudget.
func (b *BufReader) enqueueCopy(p []byte) error {
	x := b.extras()
	var last []byte
	end := len(x.queue) - 1
	if x.queued > 0 {
		if q := x.queue[end].Bytes(); len(q)+len(p) <= bringTogether {
			last = q
		}
	}
	buf, err := b.alloc.TryGet(len(last) + len(p))
	if err != nil {
		return err
	}
	n := copy(buf.Bytes(), last)
	copy(buf.Bytes()[n:], p)
	if n > 0 {
		x.queue[end].Release()
		x.queue = x.queue[:end]
		x.queued -= n
	}
	x.enqueue(buf)
	return nil
}

// enqueueBytes puts foreign bytes, transferred, behind all that has been
// received, which they are now too.
func (b *BufReader) enqueueBytes(p []byte) {
	x := b.extras()
	b.total += int64(len(p))
	for len(p) > 0 {
		n := min(len(p), math.MaxInt32)
		x.enqueue(mem.Wrap(p[:n:n], nil))
		p = p[n:]
	}
}

// first returns the oldest queued Buf, which stays in the queue.
func (x *extra) first() *mem.Buf { return &x.queue[x.head] }

// pop takes the oldest queued Buf out; the caller owns it.
func (x *extra) pop() mem.Buf {
	buf := x.queue[x.head] //sluice:moved
	x.queue[x.head] = mem.Buf{}
	x.queued -= buf.Len()
	if x.head++; x.head == len(x.queue) {
		x.queue, x.head = x.queue[:0], 0
	}
	return buf
}

// cut takes the first n bytes of the oldest queued Buf out of it.
func (x *extra) cut(n int) {
	p := x.first()
	rest := p.RetainedSlice(n, p.Len())
	p.Release()
	*p = rest //sluice:moved
	x.queued -= n
}

func (x *extra) dropQueue() {
	for x.queued > 0 {
		buf := x.pop()
		buf.Release()
	}
	x.queue, x.head = nil, 0
	x.gather.drop()
	x.parkedAt = 0
}

// adopt makes the oldest queued Buf the window, which is empty.
func (b *BufReader) adopt() {
	b.dropBlock()
	buf := b.x.pop()
	slab, i, j := mem.SlabOf(buf)
	b.slab, b.owned = slab, false
	b.buf = slab.Bytes()[:j:j]
	if b.fixed == b.r {
		b.fixed = i
	}
	b.r, b.w, b.lo = i, j, i
}

// show makes what was queued first the window, if that is empty, so that View
// has it.
func (b *BufReader) show() {
	if b.r == b.w && b.mark < 0 && b.queued() > 0 {
		b.adopt()
	}
}

// merge makes the window n contiguous bytes out of itself and the queue,
// which have as many.
func (b *BufReader) merge(n int) error {
	x := b.x
	base := b.base()
	have := b.w - base
	need := b.r - base + n
	if !b.owned || base+need > len(b.buf) {
		size := need
		if b.mark >= 0 {
			size = max(need, 2*have)
		}
		if err := b.moveTo(size, need, have); err != nil {
			return err
		}
	}
	for b.w-b.r < n {
		p := x.first().Bytes()
		most := n - (b.w - b.r)
		if b.mark >= 0 {
			most = len(b.buf) - b.w
		}
		k := copy(b.buf[b.w:], p[:min(len(p), most)])
		b.w += k
		if k == len(p) {
			buf := x.pop()
			buf.Release()
		} else {
			x.cut(k)
		}
	}
	return nil
}

// park lets a shared block go whose tail may be filled later if others keep it.
func (x *extra) park(b *BufReader) {
	b.forget()
	x.parkedAt, x.parkedLen = b.w, len(b.buf)
	x.parked = b.slab.Park()
	// Not dropBlock, which would look at the last byte again: the block may be
	// somebody else's by now.
	b.buf, b.owned = nil, false
	b.rebase(0, 0)
}

// unpark takes the parked block back, if it still lives and its tail holds
// need bytes.
func (x *extra) unpark(need int) (slab mem.Slab, at, length int, ok bool) {
	at, length = x.parkedAt, x.parkedLen
	x.parkedAt = 0
	if length-at < need {
		return slab, 0, 0, false
	}
	slab, ok = x.parked.Unpark()
	return slab, at, length, ok
}
