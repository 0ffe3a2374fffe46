package bytepool

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sluice-go/sluice/internal/invariant"
)

// ErrBudget is matched by the error of TryGet and GetContext when a
// BudgetPool has lent all that it may.
var ErrBudget = errors.New("bytepool: budget used up")

// A BudgetPool lends slices of one capacity and never owns more than its
// budget in bytes, idle slices included. When all slices are lent, the caller
// chooses what happens: [BudgetPool.TryGet] fails, [BudgetPool.GetContext]
// waits, and [BudgetPool.GetOrMake] allocates outside the pool.
//
// The pool tracks each slice that it has lent. So Put refuses every other
// slice, and a second Put of the same slice. The cost is a mutex and a map
// operation for each Get and each Put. A slice whose owner forgets the Put
// stays alive and counted until the pool is dropped.
type BudgetPool struct {
	size   int
	cap    int
	limit  int // slices
	budget int64
	full   error // of TryGet; one for all, so that refusing costs nothing

	mu      sync.Mutex
	idle    [][]byte           // last in, first out: the warm one next
	lent    map[*byte]struct{} // by the first byte of the array
	waiting list.List          // of *waiter, first come, first served

	refused, outside uint64
}

// waiter is one caller that waits in GetContext.
type waiter struct {
	ready chan []byte // has room for the one slice that is handed over
}

// NewBudgetPool returns a pool of slices of length size and the given
// capacity, both in bytes, as many as fit into budget bytes. Only the slices'
// arrays are counted, not the pool's own records, some tens of bytes for each.
// It panics when size is larger than capacity, when a number is negative, and
// when not even one slice with room for a byte fits into the budget.
func NewBudgetPool(budget int64, size, capacity int) *BudgetPool {
	checkSizes("NewBudgetPool", size, capacity)
	if capacity == 0 || int64(capacity) > budget {
		panic(fmt.Sprintf("bytepool: NewBudgetPool: budget of %d bytes for slices with a capacity of %d", budget, capacity))
	}
	limit := int(min(budget/int64(capacity), int64(^uint(0)>>1)))
	lentMost := int64(limit) * int64(capacity)
	return &BudgetPool{
		size:   size,
		cap:    capacity,
		limit:  limit,
		budget: budget,
		full: fmt.Errorf("%w: %d bytes wanted, %d lent, %d allowed",
			ErrBudget, capacity, lentMost, budget),
		lent: make(map[*byte]struct{}),
	}
}

// TryGet transfers a slice of exactly the pool's size and capacity to the
// caller, or returns an error that matches [ErrBudget] at once. Contents
// are not zeroed: an earlier owner's bytes may be in it.
func (p *BudgetPool) TryGet() ([]byte, error) {
	p.mu.Lock()
	b := p.take()
	if b == nil {
		p.refused++
	}
	p.mu.Unlock()
	if b == nil {
		return nil, p.full
	}
	return p.handOut(b), nil
}

// GetContext is TryGet that waits until a slice is free or ctx ends. Its error
// matches both ErrBudget and the context's cause. Waiting callers are served
// first in, first out, and before callers that have not waited. A context that
// has already ended matters only when no slice is free. It panics for a nil
// ctx, whether one is free or not.
func (p *BudgetPool) GetContext(ctx context.Context) ([]byte, error) {
	if ctx == nil { // found later, it would leave a place in the queue that takes a slice
		panic("bytepool: BudgetPool.GetContext: nil context")
	}
	p.mu.Lock()
	if b := p.take(); b != nil {
		p.mu.Unlock()
		return p.handOut(b), nil
	}
	w := &waiter{ready: make(chan []byte, 1)}
	place := p.waiting.PushBack(w)
	p.mu.Unlock()

	select {
	case b := <-w.ready:
		return p.handOut(b), nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case b := <-w.ready: // handed over while ctx ended
		return p.handOut(b), nil
	default:
		p.waiting.Remove(place)
		p.refused++
		return nil, fmt.Errorf("%w: %w", p.full, context.Cause(ctx))
	}
}

// GetOrMake is TryGet that makes a slice of the same size and capacity
// outside the pool when all are lent. Such a slice is transferred to the
// caller for good: it is not counted, Put refuses it, and the collector takes
// it. So the budget bounds what the pool keeps but not what the program uses;
// Stats counts how often that happened.
func (p *BudgetPool) GetOrMake() []byte {
	p.mu.Lock()
	b := p.take()
	if b == nil {
		p.outside++
	}
	p.mu.Unlock()
	if b == nil {
		b = p.make()
	}
	return p.handOut(b)
}

// Put transfers b to the pool and reports whether it was one that the pool had
// lent. Anything else is refused and changes nothing: nil, a slice from
// elsewhere, one that GetOrMake made outside the pool, b[i:] for any i but 0,
// b[:n:m] that lost capacity, and a second Put while the slice is not lent
// again. The caller that has waited longest in GetContext gets the slice.
func (p *BudgetPool) Put(b []byte) bool {
	if cap(b) != p.cap || cap(b) == 0 {
		return false
	}
	b = b[:p.size]
	key := &b[:1][0]
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.lent[key]; !ok {
		return false
	}
	if invariant.Enabled {
		enter("BudgetPool", b)
	}
	if first := p.waiting.Front(); first != nil {
		// The slice stays lent, now to the next owner: no other caller can take it.
		p.waiting.Remove(first).(*waiter).ready <- b
		return true
	}
	delete(p.lent, key)
	p.idle = append(p.idle, b)
	return true
}

// Trim gives all idle slices to the collector and returns how many bytes
// those were.
func (p *BudgetPool) Trim() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	p.idle = nil
	return int64(n) * int64(p.cap)
}

// BudgetStats is a snapshot of a BudgetPool's figures.
type BudgetStats struct {
	Budget  int64  // bytes, as given to NewBudgetPool
	Lent    int64  // bytes: capacity of slices that were got and not put
	Idle    int64  // bytes: capacity of slices that wait for a Get
	Waiting int    // callers in GetContext
	Refused uint64 // TryGet and GetContext that ended in an error
	Outside uint64 // slices that GetOrMake made outside the pool
}

// Stats returns consistent figures; it takes the pool's lock.
func (p *BudgetPool) Stats() BudgetStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return BudgetStats{
		Budget:  p.budget,
		Lent:    int64(len(p.lent)) * int64(p.cap),
		Idle:    int64(len(p.idle)) * int64(p.cap),
		Waiting: p.waiting.Len(),
		Refused: p.refused,
		Outside: p.outside,
	}
}

// take is called with mu held and returns nil when all slices are lent. While
// a caller waits all are lent, because Put hands its slice over directly.
func (p *BudgetPool) take() []byte {
	var b []byte
	if n := len(p.idle); n > 0 {
		b = p.idle[n-1]
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
	} else if len(p.lent) < p.limit {
		b = p.make()
	} else if p.limit == 0 {
		p.mu.Unlock()
		panic("bytepool: BudgetPool that NewBudgetPool has not made")
	} else {
		return nil
	}
	p.lent[&b[:1][0]] = struct{}{}
	return b
}

// make returns a slice that looks as if it came out of the pool.
func (p *BudgetPool) make() []byte {
	b := make([]byte, p.size, p.cap)
	if invariant.Enabled {
		fill(b[:p.cap], inside)
	}
	return b
}

func (p *BudgetPool) handOut(b []byte) []byte {
	if invariant.Enabled {
		leave("BudgetPool", b)
	}
	return b
}
