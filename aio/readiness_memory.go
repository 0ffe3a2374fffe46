//go:build unix && !aix && !solaris && !illumos

package aio

import (
	"sync"

	"github.com/sluice-go/sluice/mem"
)

// loan is memory that reads without a buffer have been lent until the next WaitIO.
type loan struct {
	from *mem.Allocator
	most int    // for one read, in bytes
	free []byte // of the last block

	mu     sync.Mutex // comes after all others
	blocks []mem.Buf
	// Blocks that a write has used beyond their time. What became of the write is
	// told by the WaitIO that follows, and its buffer seen until the next.
	used, ending []mem.Buf
}

const (
	// blockSize is what a loan takes at a time: reading in pieces of 64 KiB costs
	// no more per byte than in larger ones.
	blockSize = 64 << 10
	// loanLimit bounds what the reads of one WaitIO are lent together. What more
	// connections have to say stays in the kernel until the next; a batch should
	// fit into the processor's cache, and no storm make the process larger.
	loanLimit = 1 << 20
	// smallRoom is the least that is worth reading into, when a read may take more.
	smallRoom = 4 << 10
)

// room returns at least so much memory to read into, borrowed until keep or the
// next room. It returns nil when the limit is reached.
func (l *loan) room(least int) []byte {
	if len(l.free) < min(l.most, least) {
		if len(l.blocks)*max(l.most, blockSize) >= max(loanLimit, l.most) {
			return nil
		}
		b := l.from.Get(max(l.most, blockSize))
		l.free = b.Bytes()
		l.mu.Lock()
		l.blocks = append(l.blocks, b) //sluice:moved
		l.mu.Unlock()
	}
	return l.free[:min(len(l.free), l.most)]
}

// keep lends out the first n bytes of the last room.
func (l *loan) keep(n int) []byte {
	p := l.free[:n:n]
	l.free = l.free[n:]
	return p
}

// end takes everything back, except what writes still need.
func (l *loan) end() {
	l.free = nil
	l.mu.Lock()
	defer l.mu.Unlock()
	l.blocks = releaseAll(l.blocks)
	l.ending = releaseAll(l.ending)
	l.used, l.ending = l.ending, l.used
}

// endAll takes everything back, when no WaitIO will return anything any more.
func (l *loan) endAll() {
	for range 2 { // what is used becomes ending
		l.end()
	}
}

func releaseAll(blocks []mem.Buf) []mem.Buf {
	for i := range blocks {
		blocks[i].Release()
	}
	return blocks[:0]
}

// block returns the place in blocks of the block that p was lent from, or -1 when p
// is the program's own memory. Called with mu.
func (l *loan) block(p []byte) int {
	at := addressNumber(&p[0])
	for i := range l.blocks {
		block := l.blocks[i].Bytes()
		if from := addressNumber(&block[0]); from <= at && at < from+uintptr(len(block)) {
			return i
		}
	}
	return -1
}

// fewOf says that n bytes are worth copying out of a block of so many, by the rule
// of mem.Buf.Compact: they would keep more than eight times their size.
func fewOf(n, block int) bool { return n <= block/8 }

// holds is how much memory hold would keep of p, and 0 when p was not lent.
func (l *loan) holds(p []byte) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.block(p)
	if i < 0 {
		return 0
	}
	block := l.blocks[i].Len()
	if fewOf(len(p), block) {
		return l.from.Cap(len(p))
	}
	return block
}

// hold keeps the memory of p, if p was lent: a write of what a read has just
// returned may take longer than until the next WaitIO. It returns what is to be
// written, a copy when p is a small part of its block, and how much memory is
// kept; and the zero Buf when p is the program's own memory.
func (l *loan) hold(p []byte) (kept mem.Buf, write []byte, held int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.block(p)
	if i < 0 {
		return mem.Buf{}, p, 0
	}
	block := l.blocks[i].Len()
	if !fewOf(len(p), block) {
		return l.blocks[i].Retain(), p, block
	}
	kept = l.from.Get(len(p))
	write = kept.Bytes()
	copy(write, p)
	return kept, write, l.from.Cap(len(p))
}

// letGo takes back what hold has kept, when the write is complete.
func (l *loan) letGo(b mem.Buf) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = append(l.used, b) //sluice:moved
}

// counted is the block that ReadBuf reads into and cuts from.
type counted struct {
	from *mem.Allocator
	most int
	slab mem.Slab
	at   int

	// Of what is tiny several share a small block.
	tiny   mem.Slab
	tinyAt int
}

// tinySize is the size in bytes of the blocks that tiny reads share: what one of
// them keeps at most.
const tinySize = 1 << 10

// room returns memory for at most n bytes, 0 being as much as there is, and for
// at least so much of that.
func (s *counted) room(n, least int) ([]byte, error) {
	if n == 0 || n > s.most {
		n = s.most
	}
	if s.slab.Valid() && len(s.slab.Bytes())-s.at < min(n, least) {
		s.end()
	}
	if !s.slab.Valid() {
		if err := s.take(least); err != nil {
			return nil, err
		}
	}
	rest := s.slab.Bytes()[s.at:]
	return rest[:min(len(rest), n)], nil
}

// take gets a block of at least so many bytes: a usual one, or what the budget
// still has.
func (s *counted) take(least int) error {
	size := max(s.most, blockSize)
	slab, err := s.from.TrySlab(size)
	for err != nil && size/4 >= least {
		size /= 4
		slab, err = s.from.TrySlab(size)
	}
	if err != nil {
		return err
	}
	s.slab, s.at = slab, 0
	return nil
}

// keep returns the first n bytes of the last room, retained. Few bytes are copied
// into a small block, and their room is used again: the program may keep them for
// long.
func (s *counted) keep(n int) mem.Buf {
	if fewOf(n, len(s.slab.Bytes())) {
		if b := s.small(n); b.Valid() {
			copy(b.Bytes(), s.slab.Bytes()[s.at:])
			return b //sluice:moved
		}
	}
	b := s.slab.Cut(s.at, n)
	s.at += n
	return b
}

// small returns n bytes that keep little more, or the zero Buf when the budget has
// nothing left for that: then the block which is there has to do.
func (s *counted) small(n int) mem.Buf {
	if !fewOf(n, tinySize) {
		b, err := s.from.TryGet(n)
		if err != nil {
			return mem.Buf{}
		}
		return b //sluice:moved
	}
	if s.tiny.Valid() && s.tinyAt+n > len(s.tiny.Bytes()) {
		s.tiny.Release()
	}
	if !s.tiny.Valid() {
		tiny, err := s.from.TrySlab(tinySize)
		if err != nil {
			return mem.Buf{}
		}
		s.tiny, s.tinyAt = tiny, 0
	}
	b := s.tiny.Cut(s.tinyAt, n)
	s.tinyAt += n
	return b //sluice:moved
}

// end lets go of the blocks: each goes home with the last Buf that was cut from it.
func (s *counted) end() {
	if s.tiny.Valid() {
		s.tiny.Release()
	}
	if s.slab.Valid() {
		s.slab.Release()
	}
}
