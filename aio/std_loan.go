package aio

import "github.com/sluice-go/sluice/mem"

// stdLoan is memory that a read without a buffer has been lent.
type stdLoan struct {
	slab mem.Slab
	end  uintptr // of what the program sees of it
}

// lend notes that buf, which lies in slab, goes to the program with the next
// results. Called with mu.
func (s *std) lend(slab mem.Slab, buf []byte) {
	end := endOf(buf)
	if s.loans == nil {
		s.loans = make(map[uintptr]struct{})
	}
	s.loans[end] = struct{}{}
	s.swaps = append(s.swaps, stdLoan{slab: slab, end: end})
}

// endLoans takes memory back. Called with mu.
func (s *std) endLoans(loans []stdLoan) []stdLoan {
	for i := range loans {
		delete(s.loans, loans[i].end)
		loans[i].slab.Release()
	}
	clear(loans)
	return loans[:0]
}

// isLent says whether p, or what it was cut from, is memory of the watcher. It
// knows by the end of its capacity, which cutting leaves as it is. Called with mu.
func (s *std) isLent(p []byte) bool {
	if len(s.loans) == 0 {
		return false
	}
	_, lent := s.loans[endOf(p)]
	return lent
}

// endOf returns the address of the last byte that p can be extended to. p must
// not be empty.
func endOf(p []byte) uintptr {
	p = p[:cap(p)]
	return addressNumber(&p[len(p)-1])
}
