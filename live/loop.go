package live

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

// A loop sends to its share of a writer's viewers. Everything below the mutex's
// part belongs to its goroutine.
type loop struct {
	writer *Writer
	wake   chan struct{}
	ended  chan struct{}

	mu       sync.Mutex
	added    []*Viewer
	asked    []*Viewer
	told     []*group
	stopping bool

	groups  map[groupKey]*group
	viewers []*Viewer
	armed   []*group  // those that are due at some time
	behind  []*Viewer // those that are tried again at once
	blocked []*Viewer // those that are tried again at their retryAt
	moved   []*group  // those to be surveyed
	scanAt  time.Time
	young   []*Viewer // those that are looked at more often
	youngAt time.Time
	socket  socketWriter
	load    load
}

// scanEvery is how often a loop looks for viewers that stall.
const scanEvery = 500 * time.Millisecond

// The line of a new viewer is not measured yet: it is checked more often for a while.
const (
	youngEvery = 100 * time.Millisecond
	youngTime  = 2 * time.Second
)

func newLoop(w *Writer) *loop {
	l := &loop{
		writer: w, wake: make(chan struct{}, 1), ended: make(chan struct{}),
		groups: make(map[groupKey]*group),
	}
	l.socket.init()
	return l
}

func (l *loop) add(v *Viewer) {
	l.mu.Lock()
	l.added = append(l.added, v)
	l.mu.Unlock()
	l.rouse()
}

func (l *loop) ask(v *Viewer) {
	l.mu.Lock()
	l.asked = append(l.asked, v)
	l.mu.Unlock()
	l.rouse()
}

// tell is called with the stream's lock held.
func (l *loop) tell(g *group) {
	l.mu.Lock()
	l.told = append(l.told, g)
	l.mu.Unlock()
	l.rouse()
}

func (l *loop) rouse() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// stop ends the loop and waits for that.
func (l *loop) stop() {
	l.mu.Lock()
	l.stopping = true
	l.mu.Unlock()
	l.rouse()
	<-l.ended
}

func (l *loop) run() {
	defer close(l.ended)
	timer := time.NewTimer(scanEvery)
	defer timer.Stop()
	var added, asked []*Viewer
	var told []*group
	for {
		l.mu.Lock()
		added, l.added = l.added, added[:0]
		asked, l.asked = l.asked, asked[:0]
		told, l.told = l.told, told[:0]
		stopping := l.stopping
		l.mu.Unlock()

		now := time.Now()
		for _, v := range added {
			l.admit(v, now)
		}
		for _, v := range asked {
			l.heed(v, now)
		}
		for _, g := range told {
			l.arm(g, now)
		}
		clear(added)
		clear(asked)
		clear(told)
		if stopping && len(l.viewers) == 0 {
			return
		}
		wait := l.work(now)
		if wait <= 0 {
			// There is more to do, but let other goroutines run too: publishers
			// that read, on one processor.
			runtime.Gosched()
			continue
		}
		timer.Reset(wait)
		select {
		case <-l.wake:
		case <-timer.C:
		}
	}
}

// work does what is due, and returns how long there is nothing to do.
func (l *loop) work(now time.Time) time.Duration {
	if n := len(l.behind); n > 0 {
		for _, v := range l.behind[:n] {
			if v.state == behind {
				v.state = steady // advance puts it back on the list
				l.advance(v, 0, now)
			}
		}
		m := copy(l.behind, l.behind[n:])
		clear(l.behind[m:])
		l.behind = l.behind[:m]
	}
	next := now.Add(scanEvery)
	n := 0
	for _, g := range l.armed {
		if g.armed && !now.Before(g.due) {
			g.last, g.due = now, now
			g.armed = g.serve(now) && len(g.viewers) > 0
		}
		if g.armed {
			l.armed[n] = g
			n++
			next = earlier(next, g.due)
		}
	}
	clear(l.armed[n:])
	l.armed = l.armed[:n]

	n = 0 // after the groups, which may have added some
	for _, v := range l.blocked {
		if v.state == blocked && !now.Before(v.retryAt) {
			l.retry(v, now)
		}
		if v.state == blocked {
			l.blocked[n] = v
			n++
			next = earlier(next, v.retryAt)
		}
	}
	clear(l.blocked[n:])
	l.blocked = l.blocked[:n]

	for _, g := range l.moved {
		g.survey(now)
	}
	clear(l.moved)
	l.moved = l.moved[:0]

	if !now.Before(l.scanAt) {
		l.scanAt = now.Add(scanEvery)
		l.scan(now)
	}
	if len(l.young) > 0 {
		if !now.Before(l.youngAt) {
			l.youngAt = now.Add(youngEvery)
			l.scanYoung(now)
		}
		next = earlier(next, l.youngAt)
	}
	if len(l.behind) > 0 {
		return 0
	}
	return time.Until(earlier(next, l.scanAt))
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// arm schedules g for when its merge time has passed since it was last served, so that
// no frame waits longer than that; at once at the end of its stream.
func (l *loop) arm(g *group, now time.Time) {
	merge := g.merge
	if g.adapt {
		merge = l.load.merge(len(l.viewers), merge)
	}
	due := g.last.Add(merge)
	select {
	case <-g.stream.done:
		due = now
	default:
	}
	if !g.armed {
		g.armed = true
		g.due = due
		if !slices.Contains(l.armed, g) {
			l.armed = append(l.armed, g)
		}
	}
	g.due = earlier(g.due, due)
}

// admit takes in a new viewer and sends it what there is.
func (l *loop) admit(v *Viewer, now time.Time) {
	k := groupKey{v.stream, v.options.Form, v.options.Merge, v.options.Adapt}
	g := l.groups[k]
	if g == nil {
		g = newGroup(l, k)
		l.groups[k] = g
	}
	v.group, v.ackedAt, v.joined = g, now, v.stream.clock()
	g.viewers = append(g.viewers, v)
	l.viewers = append(l.viewers, v)
	if v.alone {
		go v.run()
		return
	}
	g.direct++
	l.young = append(l.young, v)
	l.advance(v, 0, now)
}

// heed applies the requests to v.
func (l *loop) heed(v *Viewer, now time.Time) {
	if v.alone { // its own goroutine has ended: remove it
		l.remove(v)
		return
	}
	if v.state == gone || v.state == ended {
		return
	}
	if err := v.heed(); err != nil {
		l.close(v, err)
		return
	}
	if v.state != blocked && v.state != behind {
		l.advance(v, 0, now)
	}
}

// advance sends v more, and puts it where it belongs.
func (l *loop) advance(v *Viewer, upto uint64, now time.Time) {
	if err := v.advance(upto); err != nil {
		l.close(v, err)
		return
	}
	l.place(v)
	l.note(v)
}

// retry is advance for a viewer that is on the list of the blocked.
func (l *loop) retry(v *Viewer, now time.Time) {
	if err := v.advance(0); err != nil {
		l.close(v, err)
		return
	}
	if v.state != blocked {
		l.place(v)
	}
	l.note(v)
}

// note marks v's group for a survey, if the stream is watched.
func (l *loop) note(v *Viewer) {
	if g := v.group; g.stream.watched.Load() && !slices.Contains(l.moved, g) {
		l.moved = append(l.moved, g)
	}
}

func (l *loop) place(v *Viewer) {
	switch v.state {
	case behind:
		l.behind = append(l.behind, v)
	case blocked:
		l.blocked = append(l.blocked, v)
	case ended:
		l.close(v, ErrEnded)
	}
}

// send sends v what its group is sent, in one call as a rule.
func (l *loop) send(v *Viewer, b *batch, to uint64) {
	n, err := l.socket.send(v.raw, b.parts)
	if v.sent(b, n, to) {
		return
	}
	if err != nil {
		l.close(v, err)
		return
	}
	l.place(v)
}

// close ends v, and removes it from all lists. With ErrEnded the socket is shut down in
// order.
func (l *loop) close(v *Viewer, err error) {
	if v.state == gone {
		return
	}
	v.state = gone
	v.finish(err)
	l.remove(v)
}

// remove takes v off the loop's lists, except behind and blocked: work cleans those.
func (l *loop) remove(v *Viewer) {
	i := slices.Index(l.viewers, v)
	if i < 0 {
		return
	}
	n := len(l.viewers) - 1
	l.viewers[i] = l.viewers[n]
	l.viewers[n] = nil
	l.viewers = l.viewers[:n]
	g := v.group
	i = slices.Index(g.viewers, v)
	n = len(g.viewers) - 1
	g.viewers[i] = g.viewers[n]
	g.viewers[n] = nil
	g.viewers = g.viewers[:n]
	if !v.alone {
		g.direct--
	}
	if n == 0 {
		delete(l.groups, g.key())
		g.armed = false
		g.leave()
	}
}
