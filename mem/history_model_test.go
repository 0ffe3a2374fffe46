package mem_test

import (
	"fmt"

	"github.com/sluice-go/sluice/mem"
)

// A model knows of blocks only what they hold and who holds them. It follows
// a history in one goroutine and says what the figures must be.
type model struct {
	alloc  *mem.Allocator
	limit  int64
	blocks map[int][]*blockModel // by holder: the blocks of its segs
	slab   *blockModel
	slices []*blockModel
	all    map[*blockModel]bool
}

type blockModel struct {
	capacity int // 0: wrapped, not the allocator's
	holders  int
}

func newModel(a *mem.Allocator, limit int64) *model {
	return &model{alloc: a, limit: limit, blocks: map[int][]*blockModel{}, all: map[*blockModel]bool{}}
}

func (m *model) block(capacity int) *blockModel {
	b := &blockModel{capacity: capacity}
	m.all[b] = true
	return b
}

func (m *model) hold(b *blockModel) *blockModel { b.holders++; return b }

func (m *model) drop(b *blockModel) {
	if b.holders--; b.holders == 0 {
		delete(m.all, b)
	}
}

// out is what is checked out: blocks and their capacity.
func (m *model) out() (n int, capacity int64) {
	for b := range m.all {
		if b.capacity > 0 {
			n++
			capacity += int64(b.capacity)
		}
	}
	return n, capacity
}

// mayRefuse says whether a TryGet of n bytes had to succeed.
func (m *model) mayRefuse(w *worker, n int, err error) {
	_, out := m.out()
	if fits := m.limit == 0 || out+int64(m.alloc.Cap(n)) <= m.limit; fits != (err == nil) {
		w.fail("TryGet with %d bytes of %d out: %v", out, m.limit, err)
	}
}

func (m *model) newSlab(w *worker) {
	if m.slab != nil {
		m.drop(m.slab)
	}
	m.slab = m.hold(m.block(m.alloc.Cap(slabSize)))
}

// refs returns how many hold the block of an ending holder, it included.
func (m *model) refs(id int) int { return m.blocks[id][0].holders }

// watched says whether references to the holder's block have tokens: those to
// wrapped memory have none.
func (m *model) watched(id int) bool { return m.blocks[id][0].capacity > 0 }

// check follows the step that w has done, compares the figures, and returns
// what the step came to.
func (m *model) check(w *worker) string {
	s := w.h.steps[w.at]
	m.follow(w, s)
	n, out := m.out()
	st := m.alloc.Stats()
	if st.CheckedOut != n || st.OutBytes != out {
		w.fail("%d blocks with %d bytes are out, the figures say %d and %d", n, out, st.CheckedOut, st.OutBytes)
	}
	return fmt.Sprint(n, " blocks, ", out, " bytes out, ", st.PinnedBytes, " pinned")
}

func (m *model) follow(w *worker, s step) {
	switch s.kind {
	case get, tryGet:
		m.blocks[s.to[0]] = []*blockModel{m.hold(m.block(m.alloc.Cap(s.i)))}
	case wrap:
		m.blocks[s.to[0]] = []*blockModel{m.hold(m.block(0))}
	case retain, share:
		for _, id := range s.to {
			for _, b := range m.blocks[s.from[0]] {
				m.blocks[id] = append(m.blocks[id], m.hold(b))
			}
		}
	case slice:
		m.slice(w, s)
	case compact:
		m.compact(w, s)
	case gather:
		for _, id := range s.from {
			if size(w.h.holders[id].segs) == 0 {
				m.drop(m.blocks[id][0]) // leaves no part
				continue
			}
			m.blocks[s.to[0]] = append(m.blocks[s.to[0]], m.blocks[id]...)
		}
	case release, stale:
		for _, b := range m.blocks[s.from[0]] {
			m.drop(b)
		}
	case fill:
		m.blocks[s.to[0]] = []*blockModel{m.hold(m.slab)}
	case malloc:
		m.slices = append(m.slices, m.hold(m.block(m.alloc.Cap(s.i))))
	case free:
		m.drop(m.slices[len(m.slices)-1])
		m.slices = m.slices[:len(m.slices)-1]
	}
}

// slice follows a RetainedSlice: of a Buf, also of nothing, it holds the
// block; of a Memory it holds those that it has bytes of.
func (m *model) slice(w *worker, s step) {
	from := w.h.holders[s.from[0]]
	if !from.memory {
		m.blocks[s.to[0]] = []*blockModel{m.hold(m.blocks[s.from[0]][0])}
		return
	}
	at, part := 0, 0
	for _, x := range from.segs {
		if x.n == 0 {
			continue
		}
		if max(s.i, at) < min(s.j, at+x.n) {
			m.blocks[s.to[0]] = append(m.blocks[s.to[0]], m.hold(m.blocks[s.from[0]][part]))
		}
		at += x.n
		part++
	}
}

// compact follows the rule of Buf.Compact.
func (m *model) compact(w *worker, s step) {
	id := s.from[0]
	n, b := size(w.h.holders[id].segs), m.blocks[id][0]
	capacity := b.capacity
	if capacity == 0 {
		// Wrapped: as large as what was wrapped, and the copy is of the
		// default allocator.
		capacity = w.h.steps[w.h.holders[id].segs[0].tag].i
	}
	if capacity < 4096 || capacity/8 < n {
		return
	}
	to := 0
	if b.capacity > 0 {
		to = m.alloc.Cap(n)
	}
	m.drop(b)
	m.blocks[id] = []*blockModel{m.hold(m.block(to))}
}
