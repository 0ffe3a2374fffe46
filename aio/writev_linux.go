package aio

import (
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/internal/sys"
)

// canGather: this system has a writev that costs no allocation here.
const canGather = true

// gather is scratch for one writev.
type gather struct {
	parts []unix.Iovec
	size  int
}

var gathers = sync.Pool{New: func() any { return new(gather) }}

// reset empties g, which must not keep alive what it last pointed to.
func (g *gather) reset() {
	clear(g.parts)
	g.parts, g.size = g.parts[:0], 0
}

// add appends what of o is still to be written. It returns false when no more
// fits.
func (g *gather) add(o *op) bool {
	if o.kind != writeMemory {
		rest, _ := o.rest()
		g.part(rest)
		return len(g.parts) < maxGather
	}
	skip := o.done
	for _, part := range o.more.memory.Buffers {
		if skip >= len(part) {
			skip -= len(part)
			continue
		}
		if len(g.parts) == maxGather {
			return false
		}
		g.part(part[skip:])
		skip = 0
	}
	return len(g.parts) < maxGather
}

func (g *gather) part(p []byte) {
	v := unix.Iovec{Base: &p[0]}
	v.SetLen(len(p))
	g.parts = append(g.parts, v)
	g.size += len(p)
}

// write writes what was added, to c.
func (g *gather) write(c *conn) (n int, err error) {
	if c.socket {
		n, err = sys.SendParts(int(c.fd), g.parts)
	} else {
		n, err = sys.Writev(int(c.fd), g.parts)
	}
	clear(g.parts)
	return n, err
}
