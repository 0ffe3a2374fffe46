package std

import (
	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

// lease is memory that a read without a buffer has been lent.
type lease struct {
	slab mem.Slab
	end  uintptr // of what the program sees of it
}

// leases are those of one watcher.
type leases struct {
	out  []lease              // the memory of the results that are out; for the goroutine in Wait
	next []lease              // the memory of the results that are not handed out yet
	ends map[uintptr]struct{} // where the memory of both ends
}

// add notes that buf, which lies in slab, goes to the program with the next results.
func (l *leases) add(slab mem.Slab, buf []byte) {
	end := endOf(buf)
	if l.ends == nil {
		l.ends = make(map[uintptr]struct{})
	}
	l.ends[end] = struct{}{}
	l.next = append(l.next, lease{slab: slab, end: end})
}

// end takes back the memory of list, and returns its room.
func (l *leases) end(list []lease) []lease {
	for i := range list {
		delete(l.ends, list[i].end)
		list[i].slab.Release()
	}
	clear(list)
	return list[:0]
}

// has says whether p, or what it was cut from, is memory of the watcher. It
// knows by the end of its capacity, which cutting leaves as it is.
func (l *leases) has(p []byte) bool {
	if len(l.ends) == 0 {
		return false
	}
	_, lent := l.ends[endOf(p)]
	return lent
}

// endOf returns the address of the last byte that p can be extended to. p must
// not be empty.
func endOf(p []byte) uintptr {
	p = p[:cap(p)]
	return op.Address(&p[len(p)-1])
}
