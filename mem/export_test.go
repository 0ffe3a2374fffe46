package mem

import (
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/internal/hooks"
)

// What the tests of package mem_test may know of the inside.

const (
	LastGeneration  = lastGen
	MaxHolders      = maxHolders
	MaxChildren     = maxChildren
	QuarantineBytes = quarantineBytes
	Poison          = poison
	SampleEvery     = sampleEvery
)

// AtGeneration moves the cell of b, whose only reference is b, to a
// generation and returns b as a Buf of it.
func (b Buf) AtGeneration(g uint32) Buf {
	b.c.word.Store(uint64(g)<<genShift | b.c.word.Load()&^genMask)
	b.key = uint64(g)<<genShift | b.key&^genMask
	return b
}

// Generation returns that of b.
func (b Buf) Generation() uint32 { return uint32(b.key >> genShift) }

// Holders returns how many references the cell of b counts itself.
func (b Buf) Holders() int {
	n := 0
	for w := b.c.word.Load() & holderMask; w != 0; w &= w - 1 {
		n++
	}
	return n
}

// Children returns how many cells hold a part of b's.
func (b Buf) Children() int { return int(b.c.word.Load() & liveMask >> childShift) }

// AddChildren pretends that n more children exist.
func (b Buf) AddChildren(n int) { b.c.word.Add(uint64(n) * childOne) }

// FullCells returns how many cells have annexes.
func (a *Allocator) FullCells() (n int) {
	annexes.mu.Lock()
	defer annexes.mu.Unlock()
	for c := range annexes.of {
		if c.block.home != nil && c.block.home.alloc == a {
			n++
		}
	}
	return n
}

// BlockSize returns the size of the block that b keeps.
func (b Buf) BlockSize() int { return len(b.c.block.data) }

// SlicesOut returns how many slices of Malloc are known to be out.
func (a *Allocator) SlicesOut() int {
	n := 0
	for i := range a.slices.shards {
		t := a.slices.shards[i].table.Load()
		if t == nil {
			continue
		}
		for k := range *t {
			if r := (*t)[k].Load(); r != nil && atomic.LoadUint32(&r.state) == sliceOut {
				n++
			}
		}
	}
	return n
}

// UnderPressure reports whether blocks that come home give their charge back.
func (a *Allocator) UnderPressure() bool { return a.budget.pressure.Load() }

// A Ticket is a place in the queue of a budget.
type Ticket = ticket

// Join takes a place in the queue for n bytes, without waiting.
func (a *Allocator) Join(n int) *Ticket {
	_, size := a.room(n)
	return a.budget.join(size, 0)
}

// Served reports whether t has been served. Use it before Claim.
func (t *ticket) Served() bool { return len(t.ready) == 1 }

// Claim waits for the room that t is for, and returns n bytes in it.
func (a *Allocator) Claim(t *Ticket, n int) Buf {
	<-t.ready
	a.budget.served(t)
	c, _ := a.room(n)
	return a.reserved(c, nil, n)
}

// Waiting returns how many wait for room, without a lock.
func (a *Allocator) Waiting() int { return a.budget.queue.len() }

// OverdraftInterval is the least time between two overdrafts that stay out.
const OverdraftInterval = overdraftInterval

// FrontTime is how long the first in the queue is passed over.
const FrontTime = frontTime

// StandTime is after how long a queue stands still.
const StandTime = standTime

// AlarmAt returns when the queue's timer goes off, the zero time when it is
// not set.
func (a *Allocator) AlarmAt() time.Time {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	return a.budget.alarm.at
}

// The hooks of the library's own packages.

func (a *Allocator) AwaitSlab(n, held int, stop <-chan error) (Slab, error) {
	return a.awaitSlab(n, held, stop)
}
func (a *Allocator) Idle(held int)    { a.idle(held) }
func (a *Allocator) Keep(kept int)    { a.keep(kept) }
func (s *Slab) Park() hooks.Parked    { return s.park() }
func SlabOf(b Buf) Slab               { return slabOf(b) }
func (a *Allocator) LeakLevel() Level { return Level(a.leak.level.Load()) }

// Unpark is no function of its own: it would count as the caller.
var Unpark = unpark

// Gauges returns how many blocks of size bytes the budget looks at when it calls
// charges in, and whether one that it does not look at has a charge.
func (a *Allocator) Gauges(size int) (looked int, missed bool) {
	c, _ := a.room(size)
	c.mu.Lock()
	defer c.mu.Unlock()
	for g := c.gauges.next; g != c.gauges; g = g.next {
		looked++
	}
	for g := c.asleep.next; g != c.asleep; g = g.next {
		missed = missed || g.charged.Load() != 0
	}
	return looked, missed
}

// Reclaim calls in the charges of idle blocks.
func (a *Allocator) Reclaim() {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.budget.reclaim()
}

// Live returns how many blocks of size bytes exist.
func (a *Allocator) Live(size int) int {
	c, _ := a.room(size)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live
}

// String names l in what tests print.
func (l Level) String() string {
	return [...]string{"off", "sample", "trace", "paranoid"}[l]
}

// CellsOf returns a function that counts the cells of s's block, also after its release.
func CellsOf(s *Slab) func() int {
	b := s.b
	return func() int { return 1 + len(b.more)*len(cellChunk{}) }
}

// MostIdleCells is how many cells a block keeps in the pool.
const MostIdleCells = 1 + keepChunks*len(cellChunk{})

// ReleaseUnseen releases b as if the allocator's pressure had begun after b came home, and b
// was looked at before that: its block keeps its charge.
func (a *Allocator) ReleaseUnseen(b Buf) {
	c := b.c.block.home
	c.setFlag(flagPressure, false)
	b.Release()
	c.setFlag(flagPressure, true)
}

// SetAlarm lets the alarm go off after d.
func (a *Allocator) SetAlarm(d time.Duration) {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.budget.alarm.set(&a.budget, time.Now().Add(d))
}

// CallAgain is when charges that were missed are called in again.
const CallAgain = callAgain
