package mem

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ErrBudget is matched by the error of TryGet and GetContext when the
// allocator's budget has no room.
var ErrBudget = errors.New("mem: budget used up")

// BudgetError says what a refused request came to. errors.Is(err, ErrBudget)
// holds.
type BudgetError struct {
	Name  string // the allocator
	Want  int    // capacity asked for, bytes
	Used  int64  // capacity charged when it was refused, bytes
	Limit int64  // the budget, bytes
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("mem: budget of allocator %q: %d bytes wanted, %d of %d in use", e.Name, e.Want, e.Used, e.Limit)
}

// Unwrap returns ErrBudget.
func (e *BudgetError) Unwrap() error { return ErrBudget }

// A budget counts capacity by charging blocks, not checkouts. A block that
// comes home keeps its charge, so that taking it again costs one load; only
// when a new charge finds no room are the idle blocks' charges called in.
// From then on, while the pressure lasts, blocks that come home give their
// charge back at once, and wake who waits.
//
// The error: gauges are written without a fence, so a block taken in the very
// moment of calling in can be out without a charge. The second look in
// reclaim charges it again; what stays possible is one block for each
// processor, until that look. Nothing errs in the other direction.
type budget struct {
	alloc    *Allocator
	limit    int64
	charged  atomic.Int64
	pressure atomic.Bool

	mu      sync.Mutex
	called  time.Time // when charges were last called in
	waiters []*waiter // first come, first served; each once
}

type waiter struct {
	size  int
	ready chan struct{} // closed with size charged for the waiter
}

// callAgain bounds how long a charge that was missed because a store was not
// yet visible can stay missed.
const callAgain = 5 * time.Millisecond

func (u *budget) init(a *Allocator, limit int64) { u.alloc, u.limit = a, limit }

// try charges size bytes if there is room.
func (u *budget) try(size int) bool {
	for {
		c := u.charged.Load()
		if c+int64(size) > u.limit {
			return false
		}
		if u.charged.CompareAndSwap(c, c+int64(size)) {
			return true
		}
	}
}

// charge counts a block whatever the limit says.
func (u *budget) charge(g *gauge) {
	if g.charged.CompareAndSwap(0, 1) {
		u.charged.Add(int64(g.size))
	}
}

// refund ends a block's charge, if it has one, and lets waiters in.
func (u *budget) refund(g *gauge) {
	if u.limit == 0 || !g.charged.CompareAndSwap(1, 0) {
		return
	}
	u.charged.Add(-int64(g.size))
	u.admit()
}

// admit hands free room to whoever waits longest, and ends the pressure when
// nobody waits and an eighth of the budget is free.
func (u *budget) admit() {
	if !u.pressure.Load() {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for len(u.waiters) > 0 && u.try(u.waiters[0].size) {
		close(u.waiters[0].ready)
		u.waiters[0] = nil
		u.waiters = u.waiters[1:]
	}
	if len(u.waiters) == 0 && u.charged.Load() <= u.limit-u.limit/8 {
		u.setPressure(false)
	}
}

// setPressure is called with mu held.
func (u *budget) setPressure(on bool) {
	u.pressure.Store(on)
	for i := range u.alloc.classes {
		u.alloc.classes[i].setFlag(flagPressure, on)
	}
}

func (c *class) setFlag(flag uint32, on bool) {
	if on {
		c.flags.Or(flag)
	} else {
		c.flags.And(^flag)
	}
}

// reclaim calls in the charges of idle blocks.
func (u *budget) reclaim() {
	if u.limit == 0 {
		return
	}
	var called []*gauge
	for i := range u.alloc.classes {
		c := &u.alloc.classes[i]
		c.mu.Lock()
		for g := c.gauges.next; g != &c.gauges; g = g.next {
			if !g.out() && g.charged.CompareAndSwap(1, 0) {
				u.charged.Add(-int64(g.size))
				called = append(called, g)
			}
		}
		c.mu.Unlock()
	}
	for _, g := range called {
		if g.out() {
			u.charge(g)
		}
	}
}

// press makes room for size bytes by calling in idle charges, and puts the
// allocator under pressure if that is not enough.
func (u *budget) press(size int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.pressure.Load() {
		u.callInAgain()
	} else {
		u.setPressure(true)
		u.reclaim()
		u.called = time.Now()
	}
	ok := len(u.waiters) == 0 && u.try(size)
	if ok && u.charged.Load() <= u.limit-u.limit/8 {
		u.setPressure(false)
	}
	return ok
}

// callIn calls charges in unless that was done just now: many waiters do not
// make it any dearer.
func (u *budget) callIn() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.callInAgain()
}

// callInAgain is called with mu held.
func (u *budget) callInAgain() {
	if time.Since(u.called) >= callAgain {
		u.reclaim()
		u.called = time.Now()
	}
}

// reserve charges size bytes within the limit. Nobody overtakes a waiter.
func (u *budget) reserve(size int) bool {
	if !u.pressure.Load() && u.try(size) {
		return true
	}
	return u.press(size)
}

// TryGet is Get within the budget: when the capacity that is checked out and
// what n needs would exceed it, TryGet returns an error that matches
// ErrBudget, at once. Capacity is counted, not length: a Buf of 300 bytes
// costs 512. The limit may be exceeded by one block for each processor for a
// moment while idle memory is called in, and by what Get takes without asking.
func (a *Allocator) TryGet(n int) (Buf, error) {
	a.checkSize("TryGet", n)
	u := &a.budget
	if u.limit == 0 {
		return a.Get(n), nil
	}
	c, size := a.room(n)
	var b *block
	if !c.heap {
		if b, _ = c.pool.Get().(*block); b != nil {
			b.gauge.markTook()
			if b.gauge.charged.Load() != 0 {
				if u.charged.Load() <= u.limit {
					return a.checkedOut(b, n), nil
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
		return Buf{}, &BudgetError{a.name, size, u.charged.Load(), u.limit}
	}
	return a.reserved(c, b, n), nil
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
	if !b.gauge.charged.CompareAndSwap(0, 1) {
		a.budget.charged.Add(-int64(b.gauge.size))
		a.budget.admit()
	}
	return a.checkedOut(b, n)
}

// GetContext is TryGet that waits for room until ctx ends; it then returns an
// error that matches both ErrBudget and the context's cause. Waiters are
// served in the order in which they came. A request that is larger than the
// whole budget is refused at once.
func (a *Allocator) GetContext(ctx context.Context, n int) (Buf, error) {
	b, err := a.TryGet(n)
	if err == nil {
		return b, nil
	}
	u := &a.budget
	c, size := a.room(n)
	if int64(size) > u.limit {
		return Buf{}, err
	}
	if err := u.wait(ctx, size); err != nil {
		return Buf{}, errors.Join(&BudgetError{a.name, size, u.charged.Load(), u.limit}, err)
	}
	return a.reserved(c, nil, n), nil
}

// wait returns with size charged, or with the context's cause.
func (u *budget) wait(ctx context.Context, size int) error {
	w := &waiter{size, make(chan struct{})}
	u.mu.Lock()
	u.setPressure(true)
	u.waiters = append(u.waiters, w)
	u.mu.Unlock()
	tick := time.NewTicker(callAgain)
	defer tick.Stop()
	for {
		u.admit()
		select {
		case <-w.ready:
			return nil
		case <-tick.C:
			u.callIn()
		case <-ctx.Done():
			if u.leave(w) {
				u.admit()
				return context.Cause(ctx)
			}
			return nil
		}
	}
}

// leave takes w out of the queue and reports whether it was still in it.
func (u *budget) leave(w *waiter) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, x := range u.waiters {
		if x == w {
			u.waiters = append(u.waiters[:i], u.waiters[i+1:]...)
			return true
		}
	}
	return false
}

// Budget returns the budget in bytes, 0 when there is none, and whether it is
// used up: who waits for memory should take no more than needed then, and give
// back what can be spared.
func (a *Allocator) Budget() (limit int64, pressed bool) {
	return a.budget.limit, a.budget.pressure.Load()
}
