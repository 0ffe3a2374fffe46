//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"sync/atomic"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/internal/hooks"
	"github.com/sluice-go/sluice/mem"
)

// What mem offers: whether a release may run a function of the program.
var (
	runsFree    = hooks.RunsFree.(func(b mem.Buf) bool)
	runsFreeAny = hooks.RunsFreeAny.(func(m *mem.Memory) bool)
)

// foreign is memory of writes that a function of the program frees (mem.Wrap). It is released
// when no connection is locked: the function may use the one that it was written to.
type foreign struct {
	some    atomic.Bool   // there may be something in the list
	list    []transferred // guarded by the driver's mu, as is freeing
	freeing bool          // a goroutine releases what is there
}

// transferred is a Buf, or a Memory.
type transferred struct {
	single mem.Buf
	memory *mem.Memory
}

func (t *transferred) release() {
	if t.memory != nil {
		t.memory.Release()
	} else {
		t.single.Release()
	}
}

// releaseBuf releases b, transferred, at once or in unlock. Called with c.mu.
func (d *Driver) releaseBuf(b mem.Buf) {
	if runsFree(b) {
		d.setAside(transferred{single: b}) //sluice:moved
	} else {
		b.Release()
	}
}

// releaseMemory is releaseBuf of m.
func (d *Driver) releaseMemory(m *mem.Memory) {
	if runsFreeAny(m) {
		d.setAside(transferred{memory: m})
	} else {
		m.Release()
	}
}

// keepUntilUnlock keeps what r writes until unlock: it may be copied and released meanwhile.
// Called with c.mu.
func (d *Driver) keepUntilUnlock(r *op.Request) {
	switch {
	case r.Kind == op.WriteBuf && runsFree(r.Single):
		d.setAside(transferred{single: r.Single.Retain()})
	case r.Kind == op.WriteMemory && runsFreeAny(r.Memory):
		d.setAside(transferred{memory: r.Memory.Retain()})
	}
}

func (d *Driver) setAside(t transferred) {
	d.mu.Lock()
	d.foreign.list = append(d.foreign.list, t) //sluice:moved
	d.mu.Unlock()
	d.foreign.some.Store(true)
}

// unlock unlocks c, and releases what was set aside.
func (d *Driver) unlock(c *conn) {
	c.mu.Unlock()
	if d.foreign.some.Load() {
		d.releaseForeign()
	}
}

// releaseForeign is one goroutine's at a time. What the functions set aside by what they do comes
// after, and not within: there may be thousands.
func (d *Driver) releaseForeign() {
	f := &d.foreign
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.freeing {
		return
	}
	f.freeing = true
	defer func() { f.freeing = false }() // also when one panics
	for len(f.list) > 0 {
		f.releaseFirst(d)
	}
	f.list = nil
	f.some.Store(false)
}

// releaseFirst is called, and returns, with the driver's mu held.
func (f *foreign) releaseFirst(d *Driver) {
	t := f.list[0] //sluice:moved
	f.list[0] = transferred{}
	f.list = f.list[1:]
	d.mu.Unlock()
	defer d.mu.Lock()
	t.release()
}
