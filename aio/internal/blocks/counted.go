package blocks

import "github.com/sluice-go/sluice/mem"

// Counted is the block that ReadBuf reads into and cuts from. It is for one goroutine
// at a time.
type Counted struct {
	From *mem.Allocator
	Most int // for one read, in bytes
	slab mem.Slab
	at   int

	// Of what is tiny several share a small block.
	tiny   mem.Slab
	tinyAt int
}

// tinySize is the size in bytes of the blocks that tiny reads share: what one of
// them keeps at most.
const tinySize = 1 << 10

// Room returns memory for at most n bytes, 0 being as much as there is, and for
// at least so much of that.
func (s *Counted) Room(n, least int) ([]byte, error) {
	if n == 0 || n > s.Most {
		n = s.Most
	}
	if s.slab.Valid() && len(s.slab.Bytes())-s.at < min(n, least) {
		s.End()
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
func (s *Counted) take(least int) error {
	size := max(s.Most, blockSize)
	slab, err := s.From.TrySlab(size)
	for err != nil && size/4 >= least {
		size /= 4
		slab, err = s.From.TrySlab(size)
	}
	if err != nil {
		return err
	}
	s.slab, s.at = slab, 0
	return nil
}

// Keep returns the first n bytes of the last Room, retained. Few bytes are copied
// into a small block, and their room is used again: the program may keep them for
// long.
func (s *Counted) Keep(n int) mem.Buf {
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
func (s *Counted) small(n int) mem.Buf {
	if !fewOf(n, tinySize) {
		b, err := s.From.TryGet(n)
		if err != nil {
			return mem.Buf{}
		}
		return b //sluice:moved
	}
	if s.tiny.Valid() && s.tinyAt+n > len(s.tiny.Bytes()) {
		s.tiny.Release()
	}
	if !s.tiny.Valid() {
		tiny, err := s.From.TrySlab(tinySize)
		if err != nil {
			return mem.Buf{}
		}
		s.tiny, s.tinyAt = tiny, 0
	}
	b := s.tiny.Cut(s.tinyAt, n)
	s.tinyAt += n
	return b //sluice:moved
}

// End lets go of the blocks: each goes home with the last Buf that was cut from it.
func (s *Counted) End() {
	if s.tiny.Valid() {
		s.tiny.Release()
	}
	if s.slab.Valid() {
		s.slab.Release()
	}
}
