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
	groupKey
	viewers []*Viewer
	direct  int           // viewers that the loop itself sends to
	pos     uint64        // those that are steady have everything before it
	came    int64         // when the frame before that came, on the stream's clock
	apart   time.Duration // frames come, about
	last    time.Time     // when it was served
	task    task

	notify   func(*group) // makes the loop serve it
	notified bool         // the loop was notified of new frames; guarded by the stream's lock

	least atomic.Uint64 // position of the slowest active viewer, or noViewer
}

type groupKey struct {
	stream *Stream
	form   Form
	merge  time.Duration
	adapt  bool // merge is the longest
}

// noViewer is the position in a group without an active one.
const noViewer = math.MaxUint64

func newGroup(k groupKey, notify func(*group)) *group {
	g := &group{groupKey: k, notify: notify}
	g.least.Store(noViewer)
	s := g.stream
	s.mu.Lock()
	g.pos = s.ring.next
	if s.watched.Load() {
		g.least.Store(0) // not known yet
	}
	s.follow(g)
	s.mu.Unlock()
	return g
}

func (g *group) at() *task { return &g.task }

// leave ends a group that is empty.
func (g *group) leave() {
	s := g.stream
	s.mu.Lock()
	s.unfollow(g)
	s.mu.Unlock()
}

// The following are called with the stream's lock held.

func (g *group) wake(over bool) {
	if !g.notified || over {
		g.notified = true
		g.notify(g)
	}
}

func (g *group) watch(on bool) {
	g.least.Store(0) // not known: the loop has to look
	if on {
		g.wake(false)
	}
}

func (g *group) slowest() uint64 { return g.least.Load() }

// remove takes v out.
func (g *group) remove(v *Viewer) {
	i := slices.Index(g.viewers, v)
	n := len(g.viewers) - 1
	g.viewers[i] = g.viewers[n]
	g.viewers[n] = nil
	g.viewers = g.viewers[:n]
	if !v.link.waits {
		g.direct--
	}
}

// gather puts what is new since pos into b, about visit bytes, and moves pos behind
// it. It returns the first of these frames, and whether there is more.
func (g *group) gather(b *batch) (from uint64, more, over bool) {
	s := g.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.ring
	g.notified = false
	from = max(g.pos, r.first)
	g.pos = from
	if from < r.next {
		g.pos = r.fill(b, g.form, from, r.next, visit)
		g.observe(r.at(g.pos-1).came, int(g.pos-from))
	}
	return from, g.pos < r.next, s.end.over
}

// observe takes note that n frames have come, the latest at the given time.
func (g *group) observe(came int64, n int) {
	if g.came > 0 {
		d := min(time.Duration(came-g.came)/time.Duration(n), time.Second)
		g.apart += (d - g.apart) / 8
	}
	g.came = came
}

// survey finds the slowest active viewer, and notifies a publisher that waits for it. The
// viewers were looked at for the last time at scanned.
func (g *group) survey(scanned time.Time) {
	s := g.stream
	if !s.watched.Load() {
		return
	}
	least := uint64(noViewer)
	for _, v := range g.viewers {
		switch {
		case scanned.Sub(v.pulse.at) >= lagging:
		case v.figures.joined.Load():
			least = min(least, v.figures.seq.Load())
		case v.options.fromStart:
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
