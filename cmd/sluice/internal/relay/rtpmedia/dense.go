package rtpmedia

import (
	"github.com/sluice-go/sluice/internal/hooks"
	"github.com/sluice-go/sluice/mem"
)

// What mem says of the block that a Buf lies in.
var (
	pinned   = hooks.Pinned.(func(a *mem.Allocator, b mem.Buf) int)
	together = hooks.Together.(func(a, b mem.Buf) bool)
)

// The packets of a unit may keep keptFreely bytes of memory, and keptTimes as many as they have: one of a few
// bytes keeps the block that it came in, of 64 KB, and whatever has come with it.
const keptFreely, keptTimes = 1 << 20, 4

// dense returns a packet of the unit in work, transferred, or a copy where the unit would keep too much.
func (c *Collector) dense(p mem.Buf) mem.Buf {
	u := &c.unit
	if k := len(u.bufs); k > 0 && together(u.bufs[k-1], p) {
		return p
	}
	n := pinned(c.alloc, p)
	if u.kept+n > keptFreely+keptTimes*(u.size+p.Len()) {
		if b, err := c.alloc.TryGet(p.Len()); err == nil {
			copy(b.Bytes(), p.Bytes())
			p.Release()
			p, n = b, pinned(c.alloc, b) //sluice:moved
		}
	}
	u.kept += n
	return p
}
