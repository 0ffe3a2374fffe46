package mem

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// ErrBudget is matched by the error of a request that the allocator's budget
// refused. TryGet and TrySlab do not wait and return it at once. GetContext and
// readers return it when their wait was ended. All return it when the request
// is larger than the whole budget.
var ErrBudget = errors.New("mem: budget used up")

// budgetError is the error of a refused request, with its figures.
type budgetError struct {
	name        string
	want        int   // capacity asked for, bytes
	used, limit int64 // capacity charged when it was refused, and the budget
	cause       error // what ended the wait, nil if there was none
}

func (e *budgetError) Error() string {
	s := fmt.Sprintf("mem: budget of allocator %q: %d bytes wanted, %d of %d in use", e.name, e.want, e.used, e.limit)
	if e.cause != nil {
		s += ": " + e.cause.Error()
	}
	return s
}

func (e *budgetError) Unwrap() []error {
	if e.cause == nil {
		return []error{ErrBudget}
	}
	return []error{ErrBudget, e.cause}
}

// A budget counts capacity by charging blocks, not checkouts. A block that
// comes home keeps its charge, so that taking it again costs one load; only
// when a new charge finds no room are the idle blocks' charges called in.
// From then on, while the pressure lasts, blocks that come home give their
// charge back at once, and the queue is served from it.
//
// The error: gauges are written without a fence, so a block taken in the very
// moment of calling in can be out without a charge. The second look in
// reclaim charges it again; what stays possible is one block for each
// processor, until that look. In the other direction a block that comes home in
// that moment can keep its charge, until charges are called in again.
type budget struct {
	alloc    *Allocator
	limit    int64 // 0: there is no budget
	made     time.Time
	pressure atomic.Bool

	charged atomic.Int64
	// fresh is the time before which calling charges in again is useless, in
	// nanoseconds since made.
	fresh atomic.Int64
	// roomMark is the value of charged at or below which a refund must call
	// settle under mu. A refund above it needs no lock.
	roomMark atomic.Int64
	_        [64]byte

	idle atomic.Int64 // in the hands of readers that wait for their peers
	// idleMark is the value of idle above which settle must be called.
	idleMark atomic.Int64
	kept     kept
	_        [64]byte

	mu     sync.Mutex
	called time.Time // when charges were last called in
	// missed says that idle blocks may have kept their charge when charges were
	// called in: there was one to call in, or the pressure had just begun.
	missed  bool
	scratch []*gauge // of reclaim
	queue   queue
	over    overdraft
	alarm   alarm
	spare   sync.Pool // of *ticket
}

// callAgain bounds how long a charge that was missed because a store was not
// yet visible can stay missed. Stores become visible within nanoseconds; this
// is long enough that looking at every block costs next to nothing.
const callAgain = 5 * time.Millisecond

const (
	noRoomMark = math.MinInt64
	noIdleMark = math.MaxInt64
)

func (u *budget) init(a *Allocator, limit int64) {
	u.alloc, u.limit, u.made = a, limit, time.Now()
	u.roomMark.Store(noRoomMark)
	u.idleMark.Store(noIdleMark)
	u.kept.mark.Store(noIdleMark)
	u.queue.init()
}

// refusal is the error for size bytes.
func (u *budget) refusal(size int, cause error) error {
	return &budgetError{u.alloc.name, size, u.charged.Load(), u.limit, cause}
}

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
	if g.charge() {
		u.charged.Add(int64(g.size))
	}
}

// refund ends a block's charge, if it has one, and serves the queue from it.
func (u *budget) refund(g *gauge) {
	if u.limit != 0 && g.charged.CompareAndSwap(1, 0) {
		u.giveBack(g.size)
	}
}

// giveBack subtracts size bytes from the charge. settle sets the mark first and
// then looks at the charge, so that one of the two sees the other's change.
func (u *budget) giveBack(size int) {
	if u.charged.Add(-int64(size)) <= u.roomMark.Load() {
		u.mu.Lock()
		u.settle()
		u.mu.Unlock()
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

// reclaim calls in the charges of idle blocks. It is called with mu held.
//
// What it finds idle and without a charge sleeps until it is charged again, and is
// not looked at the next time: blocks that a pool has dropped exist until they are
// collected, and may be many more than the budget has room for. Blocks that are in use
// again by then do not pay for going to sleep.
func (u *budget) reclaim() {
	called := u.scratch[:0]
	for i := range u.alloc.classes {
		c := &u.alloc.classes[i]
		c.mu.Lock()
		for g, next := c.gauges.next, (*gauge)(nil); g != c.gauges; g = next {
			next = g.next
			if g.out() {
				continue
			}
			if g.charged.CompareAndSwap(1, 0) {
				u.charged.Add(-int64(g.size))
				called = append(called, g)
			} else {
				g.sleep(c)
			}
		}
		c.mu.Unlock()
	}
	for _, g := range called {
		if g.out() {
			u.charge(g)
		}
	}
	u.missed = len(called) > 0
	u.called = time.Now()
	u.fresh.Store(int64(u.called.Sub(u.made) + callAgain))
	clear(called)
	u.scratch = called[:0]
}

// full reports whether there is no room for size bytes and calling charges in
// is useless, because it was done just now or there can never be room. It spares
// refused callers the lock.
func (u *budget) full(size int) bool {
	return int64(size) > u.limit || u.pressure.Load() && u.charged.Load()+int64(size) > u.limit && int64(time.Since(u.made)) < u.fresh.Load()
}

// begin puts the allocator under pressure. It is called with mu held.
func (u *budget) begin() {
	if u.pressure.Load() {
		return
	}
	u.setPressure(true)
	u.reclaim()
	u.missed = true
}

// callInAgain calls charges in unless that was done just now, so that many
// callers do not repeat the work. It is called with mu held.
func (u *budget) callInAgain() {
	if time.Since(u.called) >= callAgain {
		u.reclaim()
	}
}

// press makes room for size bytes by calling in idle charges, and leaves the
// allocator under pressure if that is not enough.
func (u *budget) press(size int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.pressure.Load() {
		u.callInAgain()
	} else {
		u.begin()
	}
	ok := u.queue.len() == 0 && u.try(size)
	u.settle()
	return ok
}

// trim calls in the charges of idle blocks at once.
func (u *budget) trim() {
	if u.limit == 0 {
		return
	}
	u.mu.Lock()
	u.reclaim()
	u.settle()
	u.mu.Unlock()
}

// reserve charges size bytes within the limit. It never overtakes the queue.
func (u *budget) reserve(size int) bool {
	if !u.pressure.Load() && u.try(size) {
		return true
	}
	return u.queue.len() == 0 && u.press(size)
}

// pressed returns the budget in bytes, 0 when there is none, and whether it is
// used up: a reader should then take no more than it needs, and give back what
// it can spare.
func (a *Allocator) pressed() (limit int64, pressed bool) {
	return a.budget.limit, a.budget.pressure.Load()
}
