package aio_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/sluice-go/sluice/mem"
)

// startDrain has the peer end its stream, and reads until it has ended here.
func (l *link) startDrain(w *worker) {
	l.draining.Store(true)
	l.orders <- 0
	l.drainOn(w, 0)
}

// drain goes on after k, if k was a read that drains.
func (l *link) drain(k *task, w *worker) bool {
	if !k.drain {
		return false
	}
	if k.err == nil || errors.Is(k.err, mem.ErrBudget) {
		l.drainOn(w, w.seq)
	} else {
		l.drained.Store(true)
	}
	return true
}

// drainOn submits the next read, each of another kind than the last.
func (l *link) drainOn(w *worker, turn int) {
	kinds := []taskKind{readOwn, readNil, readCounted}
	k := w.newTask(l, kinds[turn%len(kinds)])
	k.drain = true
	if !l.submit(k, 8000, 1) {
		l.drained.Store(true)
	}
}

// compare sees that two calm histories delivered the same.
func (h *history) compare(t *testing.T, other *history) {
	if len(h.links) != len(other.links) {
		t.Fatalf("%d connections on %v, %d on %v", len(h.links), h.driver, len(other.links), other.driver)
	}
	for i, a := range h.links {
		b := other.links[i]
		if a.received != b.received || a.ended != b.ended {
			t.Errorf("connection %d: %d bytes and %v on %v, %d and %v on %v", i, a.received, a.ended, h.driver, b.received, b.ended, other.driver)
		}
		if !bytes.Equal(a.got, b.got) || a.ending != b.ending {
			t.Errorf("connection %d: the peer got %d bytes and %v from %v, %d and %v from %v, or others", i, len(a.got), a.ending, h.driver, len(b.got), b.ending, other.driver)
		}
		if len(a.writes) != len(b.writes) {
			t.Errorf("connection %d: %d writes on %v, %d on %v", i, len(a.writes), h.driver, len(b.writes), other.driver)
			continue
		}
		for j, w := range a.writes {
			if v := b.writes[j]; w.kind != v.kind || w.size != v.size || w.err != v.err {
				t.Errorf("connection %d: %v wrote %d, %v on %v; %v wrote %d, %v on %v", i, w, w.size, w.err, h.driver, v, v.size, v.err, other.driver)
			}
		}
	}
}
