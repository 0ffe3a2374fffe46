package mem_test

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice/mem"
)

// A run is one history under one allocator.
type run struct {
	t     *testing.T
	h     *history
	alloc *mem.Allocator
	born  []chan held // by holder: how it comes to its worker
	wraps atomic.Int64
	freed atomic.Int64

	// In one goroutine only:
	model      *model
	transcript []string
}

// held is what a worker has of a holder: one of the two.
type held struct {
	buf mem.Buf
	mem *mem.Memory
}

func newRun(t *testing.T, h *history, a *mem.Allocator) *run {
	r := &run{t: t, h: h, alloc: a, born: make([]chan held, len(h.holders))}
	for i := range r.born {
		r.born[i] = make(chan held, 1)
	}
	return r
}

// race runs every worker's steps in a goroutine of its own. A step waits for
// the holders that it uses, which earlier steps make, so no step waits forever.
func (r *run) race() {
	var end sync.WaitGroup
	for w := range r.h.workers {
		end.Go(func() { r.work(w) })
	}
	end.Wait()
}

// worker is what one goroutine has.
type worker struct {
	*run
	at     int // the step that it is at
	has    map[int]held
	slab   mem.Slab
	used   int // bytes of the slab that are written
	slices []sliceOf
}

type sliceOf struct {
	p   []byte
	tag int
}

func (r *run) work(id int) {
	w := &worker{run: r, has: make(map[int]held)}
	defer func() {
		if x := recover(); x != nil {
			r.t.Errorf("%s, step %d (%v): %v", r.alloc.Stats().Name, w.at, r.h.steps[w.at], x)
			panic(x) // others may wait for what this one would have made
		}
	}()
	for i, s := range r.h.steps {
		if s.worker != id || r.t.Failed() && r.model != nil {
			continue
		}
		w.at = i
		w.do(s)
		if r.model != nil {
			r.transcript = append(r.transcript, r.model.check(w))
		}
	}
	if w.slab.Valid() {
		w.slab.Release()
	}
	for _, s := range w.slices {
		w.check(s.p, []seg{{s.tag, 0, len(s.p)}})
		if err := r.alloc.Free(s.p); err != nil {
			r.fail("Free: %v", err)
		}
	}
}

func (w *worker) fail(format string, args ...any) {
	w.run.fail("step %d (%v): "+format, append([]any{w.at, w.h.steps[w.at]}, args...)...)
}

func (r *run) fail(format string, args ...any) {
	r.t.Errorf("%s: "+format, append([]any{r.alloc.Stats().Name}, args...)...)
}

// take returns a holder of this worker, once it is made.
func (w *worker) take(id int) held {
	x, ok := w.has[id]
	if !ok {
		x = <-w.born[id]
		w.has[id] = x
	}
	w.checkHolder(x, w.h.holders[id].segs)
	return x
}

func (w *worker) give(id int, x held) { w.born[id] <- x }

func (w *worker) checkHolder(x held, segs []seg) {
	if x.mem == nil {
		w.check(x.buf.Bytes(), segs)
		return
	}
	if x.mem.Size != size(segs) {
		w.fail("a Memory of %d bytes, want %d", x.mem.Size, size(segs))
	}
	w.check(x.mem.Bytes(), segs)
}

func (w *worker) check(p []byte, segs []seg) {
	if len(p) != size(segs) {
		w.fail("%d bytes, want %d", len(p), size(segs))
		return
	}
	for _, s := range segs {
		for i := range s.n {
			if want := pattern(s.tag, s.off+i); p[i] != want {
				w.fail("byte %d of what step %d wrote is %#x, want %#x", s.off+i, s.tag, p[i], want)
				return
			}
		}
		p = p[s.n:]
	}
}

func write(p []byte, tag int) {
	for i := range p {
		p[i] = pattern(tag, i)
	}
}

func (w *worker) do(s step) {
	switch s.kind {
	case get, tryGet:
		b := w.get(s)
		write(b.Bytes(), w.at)
		w.give(s.to[0], held{buf: b})
	case wrap:
		p := make([]byte, s.i)
		write(p, w.at)
		w.wraps.Add(1)
		w.give(s.to[0], held{buf: mem.Wrap(p, func() { w.freed.Add(1) })})
	case retain:
		if x := w.take(s.from[0]); x.mem != nil {
			w.give(s.to[0], held{mem: x.mem.Retain()})
		} else {
			w.give(s.to[0], held{buf: x.buf.Retain()})
		}
	case slice:
		if x := w.take(s.from[0]); x.mem != nil {
			w.give(s.to[0], held{mem: x.mem.RetainedSlice(s.i, s.j)})
		} else {
			w.give(s.to[0], held{buf: x.buf.RetainedSlice(s.i, s.j)})
		}
	case share:
		to := make([]mem.Buf, len(s.to))
		w.take(s.from[0]).buf.Share(to)
		for i, id := range s.to {
			w.give(id, held{buf: to[i]})
		}
	case compact:
		x := w.take(s.from[0])
		x.buf.Compact()
		w.has[s.from[0]] = x
	case gather:
		m := mem.NewMemory()
		for _, id := range s.from {
			m.Append(w.take(id).buf)
			delete(w.has, id)
		}
		w.give(s.to[0], held{mem: m})
	case read:
		w.read(s)
	case release, stale:
		x := w.take(s.from[0])
		delete(w.has, s.from[0])
		if x.mem != nil {
			x.mem.Release()
			break
		}
		old := x.buf
		x.buf.Release()
		if s.kind == stale && w.model != nil {
			w.stale(s, old)
		}
	case fill:
		w.fill(s)
	case park:
		w.park()
	case malloc:
		p := w.alloc.Malloc(s.i)
		write(p, w.at)
		w.slices = append(w.slices, sliceOf{p, w.at})
	case free:
		last := len(w.slices) - 1
		x := w.slices[last]
		w.slices = w.slices[:last]
		w.check(x.p, []seg{{x.tag, 0, len(x.p)}})
		if err := w.alloc.Free(x.p); err != nil {
			w.fail("Free: %v", err)
		}
	}
}

// get asks within the budget when the step says so, and without it when that
// is refused, so that the history goes on.
func (w *worker) get(s step) mem.Buf {
	if s.kind == tryGet {
		b, err := w.alloc.TryGet(s.i)
		if err != nil && !errors.Is(err, mem.ErrBudget) {
			w.fail("TryGet: %v", err)
		}
		if w.model != nil {
			w.model.mayRefuse(w, s.i, err)
		}
		if err == nil {
			return b
		}
	}
	return w.alloc.Get(s.i)
}

// read reads bytes i up to j through a MemoryReader of a second Memory.
func (w *worker) read(s step) {
	x := w.take(s.from[0])
	var m *mem.Memory
	if x.mem != nil {
		m = x.mem.Retain()
	} else {
		m = mem.NewMemory(x.buf.Retain())
	}
	r := m.NewReader()
	if err := r.Skip(s.i); err != nil {
		w.fail("Skip: %v", err)
	}
	r.ClipFront()
	p := make([]byte, s.j-s.i)
	if _, err := io.ReadFull(&r, p); err != nil {
		w.fail("Read: %v", err)
	}
	w.check(p, sub(w.h.holders[s.from[0]].segs, s.i, s.j))
	m.Release()
}

// stale calls methods of a Buf that was released. If the block is free they
// must panic; if others hold it, only tokens show that the Buf is stale.
func (w *worker) stale(s step, old mem.Buf) {
	sure := w.model.refs(s.from[0]) == 1 || w.alloc.LeakLevel() >= mem.LeakTrace && w.model.watched(s.from[0])
	if !sure {
		return
	}
	if panicOf(old.Release) == "" {
		w.fail("Release of a released Buf is accepted")
	}
	if w.model.refs(s.from[0]) == 1 && panicOf(func() { old.Retain() }) == "" {
		w.fail("Retain of a released Buf is accepted")
	}
}

const slabSize = 4096

func (w *worker) fill(s step) {
	if w.slab.Valid() && !w.slab.Shared() {
		w.used = 0
	}
	if w.slab.Valid() && len(w.slab.Bytes())-w.used < s.i {
		w.slab.Release()
	}
	if !w.slab.Valid() {
		w.slab, w.used = w.alloc.Slab(slabSize), 0
		if w.model != nil {
			w.model.newSlab(w)
		}
	}
	write(w.slab.Bytes()[w.used:w.used+s.i], w.at)
	w.give(s.to[0], held{buf: w.slab.Cut(w.used, s.i)})
	w.used += s.i
}

func (w *worker) park() {
	if !w.slab.Valid() {
		return
	}
	shared := w.slab.Shared()
	p := w.slab.Park()
	w.slab = mem.Unpark(p)
	ok := w.slab.Valid()
	if ok && !shared || w.model != nil && ok != shared {
		w.fail("the slab was shared: %v, and unparked: %v", shared, ok)
	}
	if w.model != nil && !ok {
		w.model.drop(w.model.slab)
		w.model.slab = nil
	}
}

// settled checks what must hold when all holders are gone.
func (r *run) settled() {
	if r.freed.Load() != r.wraps.Load() {
		r.fail("%d pieces were wrapped and %d freed", r.wraps.Load(), r.freed.Load())
	}
	if leaks := r.alloc.Leaks(); len(leaks) != 0 {
		r.fail("%d references are outstanding, the first was taken at\n%s", len(leaks), leaks[0].Stack)
	}
	s := r.alloc.Stats()
	if s.CheckedOut != 0 || s.OutBytes != 0 || s.PinnedBytes != 0 || s.Forgotten != 0 || r.alloc.SlicesOut() != 0 {
		r.fail("in the end %+v", s)
	}
	r.alloc.Trim()
	if c := r.alloc.Stats().Budget.Charged; c != 0 {
		r.fail("%d bytes are charged in the end", c)
	}
	if r.model != nil {
		r.transcript = append(r.transcript, fmt.Sprint(s.Hits+s.Misses, " checkouts"))
	}
}
