//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"io"
	"reflect"
	"runtime"
	"weak"
)

// sentinel is referred to by nothing, so that its cleanup runs with the next collection.
// It is too large for the runtime to put it into one block with other objects, which
// would keep it alive.
type sentinel struct{ _ [32]byte }

// watchCollector starts a search for connections that the program has forgotten, after
// the next garbage collection. A cleanup on each connection would do the same, for a
// hundred bytes each.
func (d *Driver) watchCollector() {
	runtime.AddCleanup(new(sentinel), func(w weak.Pointer[Driver]) {
		if d := w.Value(); d != nil {
			d.collected()
		}
	}, weak.Make(d))
}

// collected closes the connections whose names have been collected.
func (d *Driver) collected() {
	d.mu.Lock()
	if d.life.closed {
		d.mu.Unlock()
		return
	}
	forgotten := d.table.forgotten()
	d.counters.Found += uint32(len(forgotten))
	d.mu.Unlock()
	for _, c := range forgotten {
		c.mu.Lock()
		dropped := d.drop(c, io.ErrClosedPipe)
		d.unlock(c)
		if dropped {
			d.mu.Lock()
			d.counters.Collected++
			d.mu.Unlock()
		}
	}
	d.weakenIdle()
	d.watchCollector()
}

// weakenIdle has the next collection find the connections on which nothing is pending,
// if the program has forgotten them.
func (d *Driver) weakenIdle() {
	for fd := 0; ; fd++ {
		d.mu.Lock()
		if d.life.closed || fd >= len(d.table.fds) {
			d.mu.Unlock()
			return
		}
		c := d.table.fds[fd]
		d.mu.Unlock()
		if c == nil {
			continue
		}
		c.mu.Lock()
		if c.pending == 0 && c.key != 0 && !c.isWeak() && !c.closed {
			d.mu.Lock()
			c.self = weak.Make((*byte)(reflect.ValueOf(c.name).UnsafePointer()))
			d.mu.Unlock()
			c.name = nil
		}
		c.mu.Unlock()
	}
}
