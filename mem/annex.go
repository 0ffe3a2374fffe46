package mem

import (
	"runtime"
	"sync"

	"github.com/sluice-go/sluice/internal/sys"
)

// A cell has room for maxChildren children, and a large frame that is cut into
// packets has more parts than that. The last place of a full cell goes to an
// annex: a child without holders of its own, which lives as long as it has
// children. Parts are added to the newest annex, and the last place of that goes
// to the next one:
//
//	cell -- maxChildren-1 children
//	  '---- annex -- maxChildren-1 children
//	          '----- annex -- ...
//
// Only a cell that is full pays for it: a lock, and a look into a map.
var annexes struct {
	mu sync.Mutex
	of map[*cell][]annexRef // by the cell that is full; each annex is the parent of the next
}

// annexRef names one use of an annex's cell, which comes from a pool.
type annexRef struct {
	c   *cell
	gen uint64
}

// room returns the word of the annex and whether it still lives.
func (r annexRef) room() (word uint64, lives bool) {
	w := r.c.word.Load()
	return w, w&genMask == r.gen && w&liveMask != 0
}

// childrenOf returns how many children word counts.
func childrenOf(word uint64) int { return int(word & liveMask >> childShift) }

// takeAnnexed takes a place for one more child of c, which was full a moment
// ago, on behalf of the holder of key. It returns the child's parent: c after all,
// or an annex.
func (c *cell) takeAnnexed(key uint64, op string) *cell {
	for {
		parent, ok := c.tryTakeAnnexed(key, op)
		if ok {
			return parent
		}
		// A holder left meanwhile, or an annex ends whose place is not free yet.
		runtime.Gosched()
	}
}

func (c *cell) tryTakeAnnexed(key uint64, op string) (parent *cell, ok bool) {
	annexes.mu.Lock()
	defer annexes.mu.Unlock()
	w := c.word.Load()
	if stale(w, key) {
		panicStale(op, c, key)
	}
	if childrenOf(w) < maxChildren-1 {
		return c, c.word.CompareAndSwap(w, w+childOne)
	}
	full := c
	list := annexes.of[c]
	for len(list) > 0 {
		last := list[len(list)-1]
		if lw, lives := last.room(); lives {
			full, w = last.c, lw
			break
		}
		list = list[:len(list)-1] // it takes itself out a moment later
	}
	if full != c && childrenOf(w) < maxChildren-1 {
		return full, full.word.CompareAndSwap(w, w+childOne)
	}
	if childrenOf(w) == maxChildren || !full.word.CompareAndSwap(w, w+childOne) {
		return nil, false
	}
	// The place that the caller asks for is the first in the annex.
	a := childCells.Get().(*cell)
	gen := a.word.Load()&genMask + genOne
	a.block, a.parent, a.data = c.block, full, nil
	a.kind, a.tracked, a.next = annex, c.tracked, c
	sys.StoreRelaxed64(&a.word, gen|childOne)
	if annexes.of == nil {
		annexes.of = make(map[*cell][]annexRef)
	}
	annexes.of[c] = append(list, annexRef{a, gen})
	return a, true
}

// endAnnex takes the annex c, which has no children left, out of the map.
func (c *cell) endAnnex() {
	annexes.mu.Lock()
	defer annexes.mu.Unlock()
	full := c.next
	c.kind, c.next = child, nil
	list := annexes.of[full]
	left := list[:0]
	for _, r := range list {
		if r.c != c {
			left = append(left, r)
		}
	}
	clear(list[len(left):])
	if len(left) == 0 {
		delete(annexes.of, full)
	} else {
		annexes.of[full] = left
	}
}
