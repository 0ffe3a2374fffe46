//go:build unix && !aix && !solaris && !illumos

package aio

import "github.com/sluice-go/sluice/mem"

// loan is memory that reads without a buffer have been lent until the next WaitIO.
type loan struct {
	from   *mem.Allocator
	most   int // for one read, in bytes
	blocks []mem.Buf
	free   []byte // of the last block
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
		l.blocks = append(l.blocks, l.from.Get(max(l.most, blockSize))) //sluice:moved
		l.free = l.blocks[len(l.blocks)-1].Bytes()
	}
	return l.free[:min(len(l.free), l.most)]
}

// keep lends out the first n bytes of the last room.
func (l *loan) keep(n int) []byte {
	p := l.free[:n:n]
	l.free = l.free[n:]
	return p
}

// end takes everything back.
func (l *loan) end() {
	for i := range l.blocks {
		l.blocks[i].Release()
	}
	l.blocks, l.free = l.blocks[:0], nil
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
