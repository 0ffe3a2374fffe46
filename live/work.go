package live

import (
	"slices"
	"time"
)

const (
	// scanEvery is how often a loop looks for viewers that stall.
	scanEvery = 500 * time.Millisecond
	// slice is for how long a loop sends what is long to some, before it looks
	// whether another group is due.
	slice = 2 * time.Millisecond
	// sliced is the size of a batch from which on that is so.
	sliced = visit / 2
)

func (l *loop) run() {
	defer close(l.ended)
	defer l.fresh.yielder.close()
	timer := time.NewTimer(scanEvery)
	defer timer.Stop()
	var m mail // what is empty in it is used again
	for {
		l.mail.take(&m)
		if m.frozen != nil {
			m.frozen.stand()
		}
		now := time.Now()
		l.fresh.looked = now
		for _, v := range m.added {
			l.admit(v, now)
		}
		for _, v := range m.asked {
			l.apply(v, now)
		}
		for _, g := range m.notified {
			l.arm(g, now)
		}
		if m.stopping && len(l.viewers) == 0 {
			return
		}
		m.reset()
		wait := l.work(now)
		if wait <= 0 {
			// There is more to do, but let other goroutines run too: publishers
			// that read, on one processor.
			l.fresh.giveWay()
			continue
		}
		timer.Reset(wait)
		select {
		case <-l.mail.wake:
		case <-timer.C:
		}
	}
}

// work does what is due, and returns how long there is nothing to do.
func (l *loop) work(now time.Time) time.Duration {
	for x := l.agenda.pop(now); x != nil; x = l.agenda.pop(now) {
		switch x := x.(type) {
		case *group:
			l.serve(x, now)
		case *Viewer:
			x.state = stateBehind
			l.behind = append(l.behind, x)
		}
	}
	l.goOn(time.Since(now))
	for _, g := range l.moved {
		g.survey(l.scanned)
	}
	clear(l.moved)
	l.moved = l.moved[:0]

	if !now.Before(l.scanAt) {
		l.excuse(now.Sub(l.scanAt))
		l.scanAt, l.scanned = now.Add(scanEvery), now
		l.scan(now)
	}
	next := l.agenda.next(l.scanAt)
	if n := &l.fresh; len(n.young) > 0 {
		if !now.Before(n.youngAt) {
			n.youngAt = now.Add(youngEvery)
			l.scanYoung(now)
		}
		next = earlier(next, n.youngAt)
	}
	if len(l.behind) > 0 {
		return 0
	}
	return time.Until(next)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// goOn sends to viewers that are behind: to each once, or to as many as there is time for. That is as
// much as groups took in this round, or those would get all of a loop that has too little.
func (l *loop) goOn(served time.Duration) {
	done, n, most := 0, len(l.behind), max(l.turn(), served)
	began := time.Now()
	for now := began; done < n && now.Sub(began) < most; now = time.Now() {
		v := l.behind[done]
		done++
		if v.state == stateBehind {
			v.state = stateSteady // advance puts it back on the list
			l.advance(v, 0)
		}
		began = began.Add(l.welcome())
	}
	if done > 0 {
		l.behind = slices.Delete(l.behind, 0, done)
	}
}

// turn is for how long, at least, the loop sends to those who are behind before it looks what
// else there is to do.
func (l *loop) turn() time.Duration {
	if l.fresh.until.IsZero() {
		return slice
	}
	return welcomeEvery
}

// arm schedules g for when its merge time has passed since it was last served, so that
// no frame waits longer than that; at once at the end of its stream.
func (l *loop) arm(g *group, now time.Time) {
	if len(g.viewers) == 0 {
		return // it has been left
	}
	merge := g.merge
	if g.adapt {
		merge = l.load.merge(g.apart, merge)
	}
	due := g.last.Add(merge)
	select {
	case <-g.stream.done:
		due = now
	default:
	}
	if g.task.place == 0 || due.Before(g.task.due) {
		g.task.due = due
		l.agenda.set(g)
	}
}

// serve sends new frames to all viewers of the group.
func (l *loop) serve(g *group, now time.Time) {
	g.last = now
	from, more, over := g.gather(&l.come)
	began := time.Now()
	direct := g.direct
	if direct > 0 {
		l.shared.join(&l.come, g.stream.options.Allocator)
	}
	long, late := l.shared.size >= sliced, false
	for i := len(g.viewers) - 1; i >= 0; i-- { // from the back: closing takes one out
		v := g.viewers[i]
		switch {
		case v.link.waits:
			v.owner.notify(v)
		case v.state == stateBlocked || v.state == stateBehind:
			// It is sent to otherwise.
		case v.state == stateSteady && v.cursor.seq == from && v.cursor.whole() && !v.line.slow && !v.paused && v.leaves == 0 && !over && l.shared.size > 0:
			if late {
				v.state = stateBehind
				l.behind = append(l.behind, v)
				break
			}
			l.send(v, &l.shared, g.pos)
			late = long && time.Since(began) >= slice
		case v.paused && !over:
		default:
			l.advance(v, g.pos)
		}
		began = began.Add(l.welcome())
	}
	l.shared.reset()
	l.come.reset()
	l.load.sent(now, direct, int(g.pos-from), time.Since(began))
	g.survey(l.scanned)
	if more && len(g.viewers) > 0 {
		g.task.due = now.Add(1) // after all that is due now
		l.agenda.set(g)
	}
}

// apply does what was asked of v.
func (l *loop) apply(v *Viewer, now time.Time) {
	if v.link.waits { // its own goroutine has ended
		l.remove(v)
		return
	}
	if v.state == stateClosed {
		return
	}
	if err := v.applyRequest(); err != nil {
		l.close(v, err)
		return
	}
	if v.state != stateBlocked && v.state != stateBehind {
		l.advance(v, 0)
	}
}

// excuse is called when scan comes late by so much. While this process, or its machine, stood
// still, so did what it sees of the viewers: that is not their fault.
func (l *loop) excuse(late time.Duration) {
	if late < scanEvery || l.scanned.IsZero() {
		return
	}
	for _, v := range l.viewers {
		v.pulse.at = v.pulse.at.Add(late)
	}
}

// scan closes viewers that stall.
func (l *loop) scan(now time.Time) {
	l.fresh.settle(now)
	for i := len(l.viewers) - 1; i >= 0; i-- {
		switch v := l.viewers[i]; {
		case !v.stalled(&l.socket, now):
		case v.link.waits:
			v.Close(ErrStalled)
		default:
			l.close(v, ErrStalled)
		}
	}
}
