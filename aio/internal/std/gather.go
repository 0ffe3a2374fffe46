package std

import (
	"github.com/sluice-go/sluice/aio/internal/op"
)

// How much of the queue goes out in one gather.
const (
	gatherParts = 256
	gatherBytes = 256 << 10
)

// writeTogether is how many bytes of small parts go out in one Write of a connection
// that does not gather: what a TLS record has. A Write for each part of a Memory
// would be a record, and a system call, for each.
const writeTogether = 16 << 10

// takeFirst returns the first part and forgets all of them.
func (g *gather) takeFirst() []byte {
	p := g.room[0]
	clear(g.room)
	return p
}

// add appends what o has not written yet, until that has most bytes.
func (g *gather) add(o *operation, most int) {
	switch o.Kind {
	case op.WriteBytes:
		g.room = append(g.room, o.out[o.n:])
	case op.WriteBuf:
		g.room = append(g.room, o.Single.Bytes()[o.n:o.total])
	case op.WriteMemory:
		skip := o.n
		for _, p := range op.Parts(o.Memory) {
			if skip >= len(p) {
				skip -= len(p)
				continue
			}
			g.room = append(g.room, p[skip:])
			if most -= len(p) - skip; most <= 0 {
				return
			}
			skip = 0
		}
	}
}
