package mem

import (
	"sync"
	"sync/atomic"
)

// slices finds the record of a slice by the address of its memory. Looking one
// up takes no lock: a table is only added to, and is replaced as a whole when
// it is full.
type slices struct {
	shards [sliceShards]sliceShard
}

const sliceShards = 16

type sliceShard struct {
	table atomic.Pointer[[]atomic.Pointer[slice]] // its length is a power of two

	mu   sync.Mutex // for changes
	used int        // places that are not nil, gone ones included
	_    [40]byte
}

// gone stands where a record was removed: the search goes on behind it.
var gone = new(slice)

// hash spreads addresses, whose low bits are equal.
func hash(base uintptr) uint64 { return uint64(base>>minShift) * 0x9E3779B97F4A7C15 }

func (s *slices) shard(base uintptr) *sliceShard { return &s.shards[hash(base)>>60] }

// find returns the record of base, or nil.
func (s *slices) find(base uintptr) *slice {
	t := s.shard(base).table.Load()
	if t == nil {
		return nil
	}
	places := *t
	mask := uint64(len(places) - 1)
	for i := hash(base) >> 20; ; i++ {
		r := places[i&mask].Load()
		if r == nil || r.base == base {
			return r
		}
	}
}

// add records r, whose address is not known yet or was some forgotten
// memory's.
func (s *sliceShard) add(r *slice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.place(r.base); old != nil {
		old.Store(r)
		return
	}
	t := s.table.Load()
	if t == nil || s.used*2 >= len(*t) {
		t = s.grow()
	}
	s.insert(*t, r)
}

// insert is called with mu held and room in the table.
func (s *sliceShard) insert(places []atomic.Pointer[slice], r *slice) {
	mask := uint64(len(places) - 1)
	i := hash(r.base) >> 20
	for places[i&mask].Load() != nil {
		i++
	}
	places[i&mask].Store(r)
	s.used++
}

// place returns where base's record stands, or nil. It is called with mu held.
func (s *sliceShard) place(base uintptr) *atomic.Pointer[slice] {
	t := s.table.Load()
	if t == nil {
		return nil
	}
	places := *t
	mask := uint64(len(places) - 1)
	for i := hash(base) >> 20; ; i++ {
		p := &places[i&mask]
		if r := p.Load(); r == nil {
			return nil
		} else if r.base == base {
			return p
		}
	}
}

// grow replaces the table by one in which at most a quarter is used.
func (s *sliceShard) grow() *[]atomic.Pointer[slice] {
	var live []*slice
	if t := s.table.Load(); t != nil {
		for i := range *t {
			if r := (*t)[i].Load(); r != nil && r != gone {
				live = append(live, r)
			}
		}
	}
	size := 16
	for size < 4*(len(live)+1) {
		size *= 2
	}
	places := make([]atomic.Pointer[slice], size)
	s.used = 0
	for _, r := range live {
		s.insert(places, r)
	}
	s.table.Store(&places)
	return &places
}

// remove forgets r, unless another record has its address now.
func (s *sliceShard) remove(r *slice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.place(r.base); p != nil && p.Load() == r {
		p.Store(gone)
	}
}

// takeOut forgets the records of all slices that are out and returns them.
func (s *slices) takeOut() []*slice {
	var out []*slice
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		if t := sh.table.Load(); t != nil {
			for k := range *t {
				p := &(*t)[k]
				if r := p.Load(); r != nil && r != gone && atomic.CompareAndSwapUint32(&r.state, sliceOut, sliceIdle) {
					out = append(out, r)
					p.Store(gone)
				}
			}
		}
		sh.mu.Unlock()
	}
	return out
}
