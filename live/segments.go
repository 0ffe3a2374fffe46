package live

import (
	"math/bits"

	"github.com/sluice-go/sluice/mem"
)

// segments is a stretch of bytes that grows at one end and is trimmed at the
// other. Places in it are counted from its beginning, for ever. Bytes are
// written once, and what grow returned lies in one piece.
type segments struct {
	alloc   *mem.Allocator
	account *account
	list    []segment // oldest first
	open    *block    // that grow fills; nil when there is none
	used    int       // bytes of open that are in use
	end     int64
	held    int64    // memory that all blocks take
	spare   []*block // for the next ones
}

// A segment is a part of a block, or a frame in the memory that it came in.
type segment struct {
	block *block
	first int64 // place of its first byte
	from  int   // where that is in the block
	n     int   // bytes that are in use
}

// A block is counted memory that segments lie in: a Slab that grow fills, or a Buf.
type block struct {
	slab  mem.Slab
	buf   mem.Buf
	size  int // what it takes of the account
	users int // segments in it, and one while it is open
}

const (
	firstSegment = 4 << 10
	fullSegment  = 64 << 10
	// maxSpare is how many used blocks' headers are kept.
	maxSpare = 16
)

// grow appends n bytes and returns them for the caller to fill, borrowed until the
// next call. No reader sees them before that.
func (g *segments) grow(n int) []byte {
	if g.open == nil || len(g.open.slab.Bytes())-g.used < n {
		b := g.block()
		b.slab = g.alloc.Slab(max(n, g.size()))
		b.size = len(b.slab.Bytes())
		g.charge(b.size)
		if g.open != nil {
			g.release(g.open)
		}
		b.users = 1
		g.open, g.used = b, 0
	}
	from := g.used
	g.used += n
	if k := len(g.list) - 1; k >= 0 && g.list[k].block == g.open {
		g.list[k].n += n
	} else {
		g.open.users++
		g.list = append(g.list, segment{block: g.open, first: g.end, from: from, n: n})
	}
	g.end += int64(n)
	return g.open.slab.Bytes()[from : from+n : from+n]
}

// size is that of the next block: an eighth to a quarter of what is held, since memory is
// trimmed by whole blocks. A stream that is hardly used keeps hardly any.
func (g *segments) size() int {
	quarter := max(int(g.held)/4, 1)
	return min(max(firstSegment, 1<<(bits.Len(uint(quarter))-1)), fullSegment)
}

// adopt appends the bytes of p, transferred: they stay where they are.
func (g *segments) adopt(p mem.Buf) {
	n := p.Len()
	b := g.block()
	b.buf, b.users = p, 1             //sluice:moved
	b.size = 1 << bits.Len(uint(n-1)) // of the block that a frame of that length comes in
	g.charge(b.size)
	g.list = append(g.list, segment{block: b, first: g.end, n: n})
	g.end += int64(n)
}

func (g *segments) block() *block {
	if k := len(g.spare) - 1; k >= 0 {
		b := g.spare[k]
		g.spare = g.spare[:k]
		return b
	}
	return new(block)
}

// cut appends the bytes from i up to j to b, retained.
func (g *segments) cut(b *batch, i, j int64) {
	for k := g.find(i); i < j; k++ {
		s := &g.list[k]
		from, to := int(i-s.first), int(min(j-s.first, int64(s.n)))
		b.own(s.cut(from, to))
		i += int64(to - from)
	}
}

// cut returns bytes i up to j of the segment, retained.
func (s *segment) cut(i, j int) mem.Buf {
	switch b := s.block; {
	case b.slab.Valid():
		return b.slab.Cut(s.from+i, j-i)
	case j-i == s.n:
		return b.buf.Retain()
	default:
		return b.buf.RetainedSlice(i, j)
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
// last.
func (g *segments) trim(i int64) {
	k := 0
	for k < len(g.list)-1 && g.list[k+1].first <= i {
		g.release(g.list[k].block)
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
		g.release(g.list[i].block)
	}
	if g.open != nil {
		g.release(g.open)
	}
	g.list, g.open, g.used, g.spare = nil, nil, 0, nil
}

// release ends one use of b.
func (g *segments) release(b *block) {
	if b.users--; b.users > 0 {
		return
	}
	g.charge(-b.size)
	if b.slab.Valid() {
		b.slab.Release()
	} else {
		b.buf.Release()
	}
	if len(g.spare) < maxSpare {
		g.spare = append(g.spare, b)
	}
}

func (g *segments) charge(n int) {
	g.held += int64(n)
	g.account.held.Add(int64(n))
}
