package live

import (
	"math/bits"

	"github.com/sluice-go/sluice/internal/hooks"
	"github.com/sluice-go/sluice/mem"
)

// segments is a stretch of bytes that grows at one end and is trimmed at the
// other. Places in it are counted from its beginning, for ever. Bytes are
// written once, and what grow returned lies in one piece.
type segments struct {
	// First what each frame needs, together: for a server with many publishers fetching
	// that is half of the work.
	room   []byte // of open, behind what is in use
	end    int64
	held   int64 // memory that all blocks take
	second int64 // place of the second segment: before it nothing can be trimmed
	grows  bool  // the newest segment grows; its n is not known yet

	list    []segment // oldest first
	adopted *block    // the newest that adopt has added, if it is there; nil: none
	open    *block    // that grow fills; nil when there is none
	alloc   *mem.Allocator
	account *account
	spare   []*block // for the next ones
}

// A segment is a part of a block, or a frame in the memory that it came in.
type segment struct {
	block *block
	first int64 // place of its first byte
	from  int   // where that is in the block
	n     int   // bytes that are in use; of the newest segment, see segments.length
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
	if !g.grows || len(g.room) < n {
		g.begin(n)
	}
	p := g.room[:n:n]
	g.room = g.room[n:]
	g.end += int64(n)
	return p
}

// begin begins a segment that can grow by n bytes, in open or in a new block.
func (g *segments) begin(n int) {
	g.settle()
	if g.open == nil || len(g.room) < n {
		b := g.block()
		b.slab = g.alloc.Slab(max(n, g.size()))
		b.size = len(b.slab.Bytes())
		g.charge(b.size)
		if g.open != nil {
			g.release(g.open)
		}
		b.users = 1
		g.open, g.room = b, b.slab.Bytes()
	}
	g.open.users++
	g.add(segment{block: g.open, first: g.end, from: g.open.size - len(g.room)})
	g.grows = true
}

// settle ends the growing of the newest segment.
func (g *segments) settle() {
	if g.grows {
		k := len(g.list) - 1
		g.list[k].n = g.length(k)
		g.grows = false
	}
}

// length is how many bytes segment k has.
func (g *segments) length(k int) int {
	s := &g.list[k]
	if g.grows && k == len(g.list)-1 {
		return int(g.end - s.first)
	}
	return s.n
}

func (g *segments) add(s segment) {
	g.list = append(g.list, s)
	if len(g.list) == 2 {
		g.second = s.first
	}
}

// size is that of the next block: an eighth to a quarter of what is held, since memory is
// trimmed by whole blocks. A stream that is hardly used keeps hardly any.
func (g *segments) size() int {
	quarter := max(int(g.held)/4, 1)
	return min(max(firstSegment, 1<<(bits.Len(uint(quarter))-1)), fullSegment)
}

// What mem says of the block that a Buf lies in.
var (
	pinned   = hooks.Pinned.(func(a *mem.Allocator, b mem.Buf) int)
	together = hooks.Together.(func(a, b mem.Buf) bool)
)

// adopt appends the bytes of p, transferred: they stay where they are. They keep the whole block
// that they came in, however small a part of it they are; for neighbours in one the newest is charged
// for it, which is the last to go.
func (g *segments) adopt(p mem.Buf) {
	n := p.Len()
	b := g.block()
	if last := g.adopted; last != nil && together(last.buf, p) {
		b.size, last.size = last.size, 0
	} else {
		b.size = int(blockSize(g.alloc, p))
		g.charge(b.size)
	}
	b.buf, b.users = p, 1 //sluice:moved
	g.adopted = b
	g.settle()
	g.add(segment{block: b, first: g.end, n: n})
	g.end += int64(n)
}

// blockSize is the size of the block that p keeps, an estimate for one that is of another allocator.
func blockSize(alloc *mem.Allocator, p mem.Buf) int64 {
	if n := pinned(alloc, p); n > 0 {
		return int64(n)
	}
	return 1 << bits.Len(uint(max(p.Len(), 1)-1))
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
		from, to := int(i-s.first), int(min(j-s.first, int64(g.length(k))))
		b.own(s.cut(from, to))
		i += int64(to - from)
	}
}

// reclaim makes use again of what the memory from i up to j has for those who hold a part of
// it: without it, each batch that is cut would need more as long as the memory is there.
func (g *segments) reclaim(i, j int64) {
	for k := g.find(i); k < len(g.list) && g.list[k].first < j; k++ {
		if s := &g.list[k].block.slab; s.Valid() {
			s.Shared() // goes back over the parts that were released
		}
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
	if i < g.second {
		return
	}
	k := 0
	for k < len(g.list)-1 && g.list[k+1].first <= i {
		g.release(g.list[k].block)
		k++
	}
	if k > 0 {
		n := copy(g.list, g.list[k:])
		clear(g.list[n:])
		g.list = g.list[:n]
		if n > 1 {
			g.second = g.list[1].first
		}
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
	g.list, g.open, g.room, g.grows, g.spare, g.adopted = nil, nil, nil, false, nil, nil
}

// release ends one use of b.
func (g *segments) release(b *block) {
	if b.users--; b.users > 0 {
		return
	}
	g.charge(-b.size)
	if g.adopted == b {
		g.adopted = nil
	}
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
