package mem

import (
	"context"
	"fmt"
)

// TryGet is Get within the budget: when the capacity that is checked out and
// what n needs would exceed it, or while others wait for room, TryGet returns
// an error that matches ErrBudget, at once. Capacity is counted, not length: a
// Buf of 300 bytes costs 512. The limit may be exceeded by one block for each
// processor for a moment while idle memory is called in, by what Get takes
// without asking, and by overdrafts, see Options.Budget.
func (a *Allocator) TryGet(n int) (Buf, error) {
	a.checkSize("TryGet", n)
	b, ok := a.tryGet(n)
	if !ok {
		_, size := a.room(n)
		return Buf{}, a.budget.refusal(size, nil)
	}
	return b, nil
}

// tryGet is TryGet without the work of making an error.
func (a *Allocator) tryGet(n int) (Buf, bool) {
	u := &a.budget
	if u.limit == 0 {
		return a.Get(n), true
	}
	if u.queue.len() > 0 {
		return Buf{}, false
	}
	c, size := a.room(n)
	if u.full(size) {
		return Buf{}, false
	}
	var b *block
	if !c.heap {
		if b, _ = c.pool.Get().(*block); b != nil {
			b.gauge.markTook()
			if b.gauge.charged.Load() != 0 {
				if u.charged.Load() <= u.limit {
					return a.checkedOut(b, n), true
				}
				// Get has gone over the limit, so that this charge is no
				// longer a promise of room.
				u.refund(b.gauge)
			}
		}
	}
	if !u.reserve(size) {
		if b != nil {
			b.gauge.untake()
			c.pool.Put(b)
		}
		return Buf{}, false
	}
	return a.reserved(c, b, n), true
}

// reserved checks out a block for a charge that was made already: b, which is
// marked as taken, or one of c when b is nil.
func (a *Allocator) reserved(c *class, b *block, n int) Buf {
	if b == nil {
		if !c.heap {
			b, _ = c.pool.Get().(*block)
		}
		if b == nil {
			_, size := a.room(n)
			b = c.create(size)
		}
		b.gauge.markTook()
	}
	if !b.gauge.charge() {
		a.budget.giveBack(b.gauge.size)
	}
	return a.checkedOut(b, n)
}

// GetContext is TryGet that waits for room until ctx ends; it then returns an
// error that matches both ErrBudget and the context's cause. It waits in the
// same queue as readers, in the order of coming. A request that is larger
// than the whole budget is refused at once, with ErrBudget. It panics for a nil ctx, whether
// there is room or not, and for an n that cannot be.
func (a *Allocator) GetContext(ctx context.Context, n int) (Buf, error) {
	a.checkSize("GetContext", n)
	if ctx == nil {
		panic("mem: Allocator.GetContext: nil context")
	}
	if b, ok := a.tryGet(n); ok {
		return b, nil
	}
	u := &a.budget
	c, size := a.room(n)
	if int64(size) > u.limit {
		return Buf{}, u.refusal(size, nil)
	}
	t := u.join(size, 0)
	select {
	case <-t.ready:
		u.served(t)
	case <-ctx.Done():
		if !u.leave(t) {
			return Buf{}, u.refusal(size, context.Cause(ctx))
		}
	}
	return a.reserved(c, nil, n), nil
}

// awaitSlab is TrySlab that waits for room, for a reader that is in the middle
// of a frame. It returns a block of at least n bytes, retained, or an error
// that matches ErrBudget. Any number of goroutines may wait.
//
// Requests that wait, here and in GetContext, are served first in, first out,
// and no request overtakes them: a large request keeps smaller ones behind it
// waiting. The place is kept until there is room or stop yields an error, which
// the returned error then matches too. An error received from stop is always
// returned: room that was granted in the same moment goes to the next. A stop
// that is closed ends the wait with ErrBudget alone; a nil stop never ends it.
// When there is room at once stop is not looked at. A request that is larger
// than the whole budget is refused at once. Without a budget no call waits.
//
// held is the capacity in bytes, as Cap counts it, that the caller keeps while
// it waits: the block with the first half of its frame. held and idle together
// show how much capacity can still come back. When that is not enough for the
// first in the queue, all would wait for each other for ever; so the one that holds
// most is served beyond the limit, see overdraft. That is done one at a time: the next
// one when the capacity of the latest has come back, or after 10 ms, or a second
// divided by the number that wait if that is less. So the budget is exceeded by
// at most one frame for each connection, and only for connections whose peers
// are slow to send the rest of their frames. A server ends slow peers by a
// read deadline for a whole frame, and with them their
// overdrafts. Where the queue stands still what is kept (see keep) counts as held.
// Bufs that a program simply keeps are no reason for an overdraft:
// that is back-pressure. Stats reports the overdraft.
//
// A negative held panics.
func (a *Allocator) awaitSlab(n, held int, stop <-chan error) (Slab, error) {
	a.checkSize("awaitSlab", n)
	if held < 0 {
		panic(fmt.Sprintf("mem: Allocator.awaitSlab: %d bytes held", held))
	}
	u := &a.budget
	if u.limit == 0 {
		return a.TrySlab(n)
	}
	if b, ok := a.tryGet(n); ok {
		return slabOf(b), nil
	}
	c, size := a.room(n)
	if int64(size) > u.limit {
		return Slab{}, u.refusal(size, nil)
	}
	t := u.join(size, held)
	select {
	case <-t.ready:
		u.served(t)
	case err := <-stop:
		if u.leave(t) {
			u.giveBack(size)
		}
		return Slab{}, u.refusal(size, err)
	}
	return slabOf(a.reserved(c, nil, n)), nil
}

// idle adds held bytes of capacity (negative: subtracts) to what is held by
// readers that wait for their peers with a part of a frame. The queue must not
// count on getting that capacity back, see awaitSlab. A reader calls idle before
// such a wait, and after it with the same number negative. Capacity that is
// given to awaitSlab as held is not given here at the same time. The cost is one
// atomic addition, and nothing without a budget. Any goroutine may call it.
// Subtracting more than was added panics.
func (a *Allocator) idle(held int) {
	u := &a.budget
	if u.limit == 0 {
		return
	}
	sum := u.idle.Add(int64(held))
	if sum < 0 {
		panic(fmt.Sprintf("mem: Allocator.idle(%d): %d bytes are left", held, sum))
	}
	if sum > u.idleMark.Load() || held > 0 && sum+u.kept.bytes.Load() > u.kept.mark.Load() {
		u.mu.Lock()
		u.settle()
		u.mu.Unlock()
	}
}
