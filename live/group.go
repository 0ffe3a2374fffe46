package live

import (
	"math"
	"slices"
	"sync/atomic"
	"time"
)

// A group is the viewers of one loop that are sent the same bytes at the same time.
// Most of them are at the same position, so the bytes are gathered once.
type group struct {
	loop    *loop
	stream  *Stream
	form    Form
	merge   time.Duration
	adapt   bool // merge is the longest
	viewers []*Viewer
	direct  int       // viewers that the loop itself sends to
	pos     uint64    // those that are steady have everything before it
	last    time.Time // when it was served
	due     time.Time
	armed   bool  // due counts
	shared  batch // what they are sent this time

	told bool // the loop was notified of new frames; guarded by the stream's lock

	least atomic.Uint64 // position of the slowest active viewer, or nobody
}

const nobody = math.MaxUint64

type groupKey struct {
	stream *Stream
	form   Form
	merge  time.Duration
	adapt  bool
}

func newGroup(l *loop, k groupKey) *group {
	g := &group{loop: l, stream: k.stream, form: k.form, merge: k.merge, adapt: k.adapt}
	g.least.Store(nobody)
	s := g.stream
	s.mu.Lock()
	g.pos = s.ring.next
	if s.watched.Load() {
		g.least.Store(0) // not known yet
	}
	s.groups = append(s.groups, g)
	s.mu.Unlock()
	return g
}

func (g *group) key() groupKey { return groupKey{g.stream, g.form, g.merge, g.adapt} }

// leave ends a group that is empty.
func (g *group) leave() {
	s := g.stream
	s.mu.Lock()
	if i := slices.Index(s.groups, g); i >= 0 {
		s.groups = slices.Delete(s.groups, i, i+1)
	}
	s.caughtUp()
	s.mu.Unlock()
}

// gather puts what is new since pos into shared, and returns the number behind
// it and whether there is more.
func (g *group) gather() (to uint64, more, over bool) {
	s := g.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.ring
	g.told = false
	from := max(g.pos, r.first)
	g.pos = from
	to = from
	if from < r.next {
		to = r.fill(&g.shared, g.form, from, r.next, visit)
	}
	return to, to < r.next, s.over
}

// serve sends new frames to all viewers of the group, and reports whether there is
// more.
func (g *group) serve(now time.Time) bool {
	to, more, over := g.gather()
	from := g.pos
	g.pos = to
	began := time.Now()
	if g.direct > 0 {
		g.shared.join(g.stream.options.Allocator)
	}
	for i := len(g.viewers) - 1; i >= 0; i-- { // from the back: closing takes one out
		v := g.viewers[i]
		switch {
		case v.alone:
			v.nudge()
		case v.state == blocked || v.state == behind:
			// It is on one of the loop's lists.
		case v.state == steady && v.cursor.seq == from && v.cursor.whole() && !v.line.slow && !v.paused && !over && g.shared.size > 0:
			g.loop.send(v, &g.shared, to)
		case v.paused && !over:
		default:
			g.loop.advance(v, to, now)
		}
	}
	g.shared.reset()
	g.loop.load.sent(g.direct, time.Since(began))
	g.survey(now)
	return more
}

// survey finds the slowest active viewer, and notifies a publisher that waits for it.
func (g *group) survey(now time.Time) {
	s := g.stream
	if !s.watched.Load() {
		return
	}
	least := uint64(nobody)
	for _, v := range g.viewers {
		switch {
		case now.Sub(v.ackedAt) >= lagging:
		case v.figures.joined.Load():
			least = min(least, v.figures.seq.Load())
		case v.options.FromStart:
			least = 0 // it is about to begin there
		}
	}
	g.least.Store(least)
	s.mu.Lock()
	s.caughtUp()
	s.mu.Unlock()
}

// lagging is how long a viewer may take nothing before publishers stop waiting for
// it.
const lagging = 2 * time.Second
