package live

import (
	"slices"
	"time"
)

// admit takes in a new viewer and sends it what there is.
func (l *loop) admit(v *Viewer, now time.Time) {
	if v.state == stateClosed {
		return // it was given away before
	}
	g := l.group(v)
	g.viewers = append(g.viewers, v)
	l.viewers = append(l.viewers, v)
	if o, ok := v.owner.(*solo); ok {
		go o.run(v, l.forget)
		return
	}
	g.direct++
	l.fresh.young = append(l.fresh.young, v)
	l.fresh.until = now.Add(crowdTime)
	l.advance(v, 0)
}

// welcome is called again and again by what may take long. As long as newcomers are expected
// it lets the goroutines run that make viewers of them, and takes in those that are ready. It
// returns how long that took.
func (l *loop) welcome() time.Duration {
	n := &l.fresh
	if n.until.IsZero() {
		return 0
	}
	now := time.Now()
	if now.Sub(n.looked) < welcomeEvery {
		return 0
	}
	if now.After(n.until) {
		n.until = time.Time{}
		return 0
	}
	n.yielder.yield()
	for _, v := range l.mail.takeAdded() {
		l.admit(v, now)
	}
	n.looked = time.Now()
	return n.looked.Sub(now)
}

// scanYoung looks at the lines of viewers who are new.
func (l *loop) scanYoung(now time.Time) {
	l.fresh.young = slices.DeleteFunc(l.fresh.young, func(v *Viewer) bool {
		if v.state == stateClosed || now.Sub(v.since) > youngTime {
			return true
		}
		return v.measure(&l.socket)
	})
}
