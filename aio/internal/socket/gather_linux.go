package socket

import (
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/internal/sys"
)

// CanGather: this system has a writev that costs no allocation here.
const CanGather = true

// Gather is scratch for one writev.
type Gather struct {
	parts []unix.Iovec
	Size  int // bytes that were added
}

var gathers = sync.Pool{New: func() any { return new(Gather) }}

// NewGather returns an empty one, to be Released.
func NewGather() *Gather { return gathers.Get().(*Gather) }

// Release gives g back, which keeps nothing alive that it pointed to.
func (g *Gather) Release() {
	clear(g.parts)
	g.parts, g.Size = g.parts[:0], 0
	gathers.Put(g)
}

// Full reports whether nothing more fits.
func (g *Gather) Full() bool { return len(g.parts) == MaxParts }

// Add appends p, borrowed until Release, which is not empty.
func (g *Gather) Add(p []byte) {
	v := unix.Iovec{Base: &p[0]}
	v.SetLen(len(p))
	g.parts = append(g.parts, v)
	g.Size += len(p)
}

// WriteTo writes what was added, or a part of it, to s.
func (g *Gather) WriteTo(s *Socket) (int, error) {
	if s.IsSocket {
		return sys.SendParts(int(s.FD), g.parts)
	}
	return sys.Writev(int(s.FD), g.parts)
}

// MaxParts is the most that one writev takes: IOV_MAX.
const MaxParts = 1024
