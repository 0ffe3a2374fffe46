package live

import (
	"sync"
	"time"
)

// A trail remembers when the bytes written to a viewer's socket had come to the
// stream. With it the kernel's count of unacknowledged bytes gives their age. The
// viewer's owner and callers of Stats use it.
type trail struct {
	mu    sync.Mutex
	list  []stretch // a ring when there are trailLen, which a viewer of a silent stream never has
	first uint8     // the oldest
	n     uint8
}

// A stretch is bytes that were given one after another, which had come at most
// trailStep apart.
type stretch struct {
	end  uint32 // of the bytes, counted from the connection's beginning, modulo 2^32
	came uint32 // ms, of the first, on the stream's clock, modulo 2^32
}

const (
	trailLen  = 30
	trailStep = 64 // ms
)

func millis(clock int64) uint32 { return uint32(clock / int64(time.Millisecond)) }

// add says that the bytes up to end had come at the given time or later.
func (t *trail) add(end, came int64) {
	m := stretch{uint32(end), millis(came)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n > 0 {
		last := t.at(t.n - 1)
		if m.came-last.came < trailStep {
			last.end = m.end
			return
		}
	}
	switch {
	case t.n == trailLen:
		t.list[t.first] = m
		t.first = (t.first + 1) % trailLen
		return
	case int(t.n) == len(t.list):
		grown := make([]stretch, min(max(2, 4*len(t.list)), trailLen))
		copy(grown, t.list)
		t.list = grown
	}
	t.n++
	*t.at(t.n - 1) = m
}

// at is stretch i, counted from the oldest.
func (t *trail) at(i uint8) *stretch { return &t.list[(t.first+i)%trailLen] }

// age returns for how long the oldest of the bytes behind acked has been in the
// stream, now being its clock, or 0 when there is none. What is older than the
// trail is taken for as old as its oldest stretch.
func (t *trail) age(acked, now int64) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.n {
		m := *t.at(i)
		if left := int32(m.end - uint32(acked)); left > 0 {
			came := m.came
			if i > 0 { // what of it is out, is older
				before := t.at(i - 1).end
				came += uint32(uint64(trailStep) * uint64(uint32(acked)-before) / uint64(m.end-before))
			}
			return max(time.Duration(int32(millis(now)-came)), 0) * time.Millisecond
		}
	}
	return 0
}
