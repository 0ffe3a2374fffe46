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

func releaseAll(blocks []mem.Buf) []mem.Buf {
	for i := range blocks {
		blocks[i].Release()
	}
	return blocks[:0]
}

// hold keeps the block that p lies in, if p was lent: a write of what a read has
// just returned may take longer than until the next WaitIO. It returns the zero
// Buf when p is the program's own memory.
func (l *loan) hold(p []byte) mem.Buf {
	at := addressNumber(&p[0])
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.blocks {
		block := l.blocks[i].Bytes()
		if from := addressNumber(&block[0]); from <= at && at < from+uintptr(len(block)) {
			return l.blocks[i].Retain()
		}
	}
	return mem.Buf{}
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
}

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
		slab, err := s.from.TrySlab(max(s.most, blockSize))
		if err != nil {
			return nil, err
		}
		s.slab, s.at = slab, 0
	}
	rest := s.slab.Bytes()[s.at:]
	return rest[:min(len(rest), n)], nil
}

// keep cuts the first n bytes of the last room, retained.
func (s *counted) keep(n int) mem.Buf {
	b := s.slab.Cut(s.at, n)
	s.at += n
	return b
}

// end lets go of the block: it goes home with the last Buf that was cut from it.
func (s *counted) end() {
	if s.slab.Valid() {
		s.slab.Release()
	}
}
