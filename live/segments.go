package live

import "github.com/sluice-go/sluice/mem"

// segments is a stretch of bytes that grows at one end and is trimmed at the
// other. Places in it are counted from its beginning, for ever. Bytes are
// written once, and what grow returned lies in one piece.
type segments struct {
	alloc   *mem.Allocator
	account *account
	list    []segment // oldest first
	end     int64
	next    int // size of the next segment
}

type segment struct {
	slab  mem.Slab
	first int64 // place of its first byte
	n     int   // bytes that are in use
}

const (
	firstSegment = 4 << 10
	fullSegment  = 64 << 10
)

// grow appends n bytes and returns them for the caller to fill, borrowed until the
// next call. No reader sees them before that.
func (g *segments) grow(n int) []byte {
	if k := len(g.list) - 1; k >= 0 {
		s := &g.list[k]
		if b := s.slab.Bytes(); len(b)-s.n >= n {
			s.n += n
			g.end += int64(n)
			return b[s.n-n : s.n : s.n]
		}
	}
	// A stream that is hardly used keeps hardly any memory.
	g.next = min(max(firstSegment, 2*g.next), fullSegment)
	g.list = append(g.list, segment{slab: g.alloc.Slab(max(n, g.next)), first: g.end, n: n})
	g.end += int64(n)
	b := g.list[len(g.list)-1].slab.Bytes()
	g.account.held.Add(int64(len(b)))
	return b[:n:n]
}

// cut appends the bytes from i up to j to b, retained.
func (g *segments) cut(b *batch, i, j int64) {
	for k := g.find(i); i < j; k++ {
		s := &g.list[k]
		from, to := int(i-s.first), int(min(j-s.first, int64(s.n)))
		buf := s.slab.Cut(from, to-from)
		b.own(buf)
		i += int64(to - from)
	}
}

// find returns the segment that place i lies in.
func (g *segments) find(i int64) int {
	lo, hi := 0, len(g.list)
	for hi-lo > 1 {
		if mid := int(uint(lo+hi) >> 1); g.list[mid].first <= i {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// trim lets go of the segments that end at or before place i, but not of the
// last, which is being filled.
func (g *segments) trim(i int64) {
	k := 0
	for k < len(g.list)-1 && g.list[k+1].first <= i {
		g.release(k)
		k++
	}
	if k > 0 {
		n := copy(g.list, g.list[k:])
		clear(g.list[n:])
		g.list = g.list[:n]
	}
}

// drop lets everything go.
func (g *segments) drop() {
	for i := range g.list {
		g.release(i)
	}
	g.list = nil
}

func (g *segments) release(i int) {
	s := &g.list[i].slab
	g.account.held.Add(-int64(len(s.Bytes())))
	s.Release()
}

// held is how many bytes of memory the segments keep.
func (g *segments) held() int {
	n := 0
	for i := range g.list {
		n += len(g.list[i].slab.Bytes())
	}
	return n
}
