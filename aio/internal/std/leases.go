package std

import (
	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

// lease is memory that a read without a buffer has been lent.
type lease struct {
	slab        mem.Slab
	first, last uintptr // the areas of what the program sees of it
}

// leases are those of one watcher.
type leases struct {
	out   []lease         // the memory of the results that are out; for the goroutine in Wait
	next  []lease         // the memory of the results that are not handed out yet
	areas map[uintptr]int // how many of both have bytes in an area of memory
}

// areaBits is how many bits of an address tell bytes of one area apart: most leases lie in one
// area, or in two.
const areaBits = 16

func area(p *byte) uintptr { return op.Address(p) >> areaBits }

// add notes that buf, which lies in slab, goes to the program with the next results.
func (l *leases) add(slab mem.Slab, buf []byte) {
	if l.areas == nil {
		l.areas = make(map[uintptr]int)
	}
	n := lease{slab: slab, first: area(&buf[0]), last: area(&buf[len(buf)-1])}
	for a := n.first; a <= n.last; a++ {
		l.areas[a]++
	}
	l.next = append(l.next, n)
}

// end takes back the memory of list, and returns its room.
func (l *leases) end(list []lease) []lease {
	for i := range list {
		for a := list[i].first; a <= list[i].last; a++ {
			if l.areas[a]--; l.areas[a] == 0 {
				delete(l.areas, a)
			}
		}
		list[i].slab.Release()
	}
	clear(list)
	return list[:0]
}

// has says whether p, which is not empty, may be memory of the watcher, or cut from it in
// whatever way. It says so of some memory of the program nearby too, which costs a copy.
func (l *leases) has(p []byte) bool { return l.areas[area(&p[0])] > 0 }
