package aio_test

import (
	"math/rand/v2"
	"slices"
	"time"
)

// dice make the choices of a history: by chance, or from a fuzzer's bytes.
type dice interface{ pick(n int) int }

type chance struct{ *rand.Rand }

func (c chance) pick(n int) int { return c.IntN(n) }

// A script are dice that a fuzzer throws: each choice takes as many bytes as it
// needs.
type script struct{ rest []byte }

func (s *script) pick(n int) int {
	v := 0
	for top := 1; top < n && len(s.rest) > 0; top <<= 8 {
		v = v<<8 | int(s.rest[0])
		s.rest = s.rest[1:]
	}
	return v % n
}

// A worker submits, in one goroutine.
type worker struct {
	h    *history
	id   int
	dice dice
	seq  int
}

type deed int

const (
	deedTask deed = iota
	deedSend
	deedTake
	deedEnd
	deedClose
	deedReset
	deedFree
	deedReplace
	deedCancel
	deedLook
	numDeeds
)

// A step is a choice that does not depend on how things stand, so that the same
// dice make the same steps on every driver.
type step struct {
	deed   deed
	slot   int
	kind   taskKind
	size   int
	parts  int
	ending ending
	delay  time.Duration
}

// deck holds each deed as many times as its weight.
var deck = func() (deck []deed) {
	for d, often := range [numDeeds]int{deedTask: 100, deedSend: 50, deedTake: 40, deedEnd: 1, deedClose: 1, deedReset: 2,
		deedFree: 2, deedReplace: 5, deedCancel: 8, deedLook: 1} {
		deck = append(deck, slices.Repeat([]deed{deed(d)}, often)...)
	}
	return deck
}()

var endings = [16]ending{endNever, endNever, endNever, endNever, endNever, endNever, endNever, endNever, endPast, endSoon, endSoon, endLater, endLater, endDone, endCancellable, endCancellable}

func (w *worker) draw() step {
	d := w.dice
	s := step{deed: deck[d.pick(len(deck))], slot: d.pick(len(w.h.slots))}
	switch s.deed {
	case deedTask:
		s.kind = taskKind(d.pick(int(numTaskKinds)))
		s.size = w.size()
		s.parts = 1 + d.pick(12)
		s.ending = endings[d.pick(len(endings))]
		s.delay = time.Duration(d.pick(3000)) * time.Microsecond
	case deedSend, deedTake:
		s.size = w.size()
	}
	return s
}

// size draws a number of bytes: mostly small, sometimes more than a socket takes.
func (w *worker) size() int {
	switch w.dice.pick(16) {
	case 0:
		return 1 + w.dice.pick(200_000)
	case 1, 2, 3, 4:
		return 1 + w.dice.pick(9000)
	}
	return 1 + w.dice.pick(300)
}

// calmed leaves out what depends on time or on the order in which things happen.
func (s step) calmed() step {
	switch s.deed {
	case deedEnd, deedClose, deedReset, deedFree, deedReplace, deedCancel:
		s.deed = deedLook
	}
	switch s.ending {
	case endPast, endSoon, endDone, endCancellable:
		s.ending = endLater
	}
	return s
}

func (w *worker) run(steps int) {
	for range steps {
		s := w.draw()
		if w.h.calm {
			s = s.calmed()
		}
		w.take(s)
	}
}

func (w *worker) take(s step) {
	h := w.h
	l := h.slots[s.slot].Load()
	switch s.deed {
	case deedTask:
		w.task(l, s)
	case deedSend:
		w.order(l.orders, s.size)
	case deedTake:
		w.order(l.gate, s.size)
	case deedEnd:
		w.order(l.orders, 0)
	case deedClose:
		l.breakOff(false)
	case deedReset:
		l.breakOff(true)
	case deedFree:
		h.free(l)
	case deedReplace:
		if fresh := h.open(); fresh != nil {
			h.slots[s.slot].Store(fresh)
			// Half of those that are replaced stay as they are to the end.
			if l.id%2 == 0 {
				h.free(l)
			}
		}
	case deedCancel:
		h.cancelOne(s.slot)
	case deedLook:
		h.watcher.Stats()
		h.watcher.GetGC()
	}
}

// order tells a peer something, unless it has too much to do already.
func (w *worker) order(to chan int, n int) {
	select {
	case to <- n:
	default:
		if w.h.calm {
			w.h.errorf("a peer has more than %d orders, and the histories are not the same", mostOrders)
		}
	}
}

func (w *worker) task(l *link, s step) {
	h := w.h
	if !h.calm {
		if s.kind.writes() && l.queued.Load() > mostQueued || !s.kind.writes() && l.reads.Load() > mostPending {
			return
		}
	}
	k := w.newTask(l, s.kind)
	if s.ending == endDone || s.ending == endCancellable {
		switch s.kind {
		case readOwn, readNil, writeOwn:
		default:
			s.ending = endNever // these take no context
		}
	}
	if s.kind == readCounted && s.size%3 == 0 {
		s.size = 0
	}
	h.end(k, s.ending, s.delay)
	l.submit(k, s.size, s.parts)
}

func (w *worker) newTask(l *link, kind taskKind) *task {
	w.seq++
	return &task{link: l, kind: kind, worker: w.id, seq: w.seq}
}

// answer is what a program does when an operation has completed: it submits the
// next. It also decides what becomes of the Bufs that were read.
func (c *collector) answer(k *task) {
	h, l, w := c.h, k.link, c.worker
	if h.calm || h.ending.Load() {
		c.letGo(0)
	}
	c.letGo(mostKeptBufs)
	if l.drain(k, w) || h.calm || h.ending.Load() || w.dice.pick(4) != 0 || l.reads.Load() > mostPending || l.queued.Load() > mostQueued {
		return
	}
	if len(c.kept) > 0 && w.dice.pick(3) == 0 {
		b := c.release(w.dice.pick(len(c.kept)))
		to := h.slots[w.dice.pick(len(h.slots))].Load()
		to.forward(w.newTask(to, writeCounted), b)
		return
	}
	kind := taskKind(w.dice.pick(int(numTaskKinds)))
	l.submit(w.newTask(l, kind), w.size(), 3)
}

// letGo releases Bufs until so many are left.
func (c *collector) letGo(most int) {
	for len(c.kept) > most {
		b := c.release(0)
		b.Release()
	}
}
