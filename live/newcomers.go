package live

import (
	"runtime"
	"slices"
	"time"

	"github.com/sluice-go/sluice/internal/sys"
)

// newcomers are what a loop knows of viewers that it has had for a short time only, and of
// those on their way to it.
type newcomers struct {
	young   []*Viewer // those whose line is not measured yet
	youngAt time.Time // when they are looked at again
	until   time.Time // more are expected until then; zero: none
	looked  time.Time // when the loop last looked for them, or began something new
	yielder yielder
}

const (
	// The line of a new viewer is not measured yet: it is checked more often for a while.
	youngEvery = 100 * time.Millisecond
	youngTime  = 2 * time.Second
	youngBytes = 64 << 10
	// crowdTime is how long after a viewer has come more are expected.
	crowdTime = time.Second
	// A handshake takes up to four answers, each of which waits until the loop gives way. To
	// do that takes 2 us when there is nothing to answer.
	welcomeEvery = 250 * time.Microsecond
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
	l.advance(v, 0, now)
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
	l.mail.mu.Lock()
	added := l.mail.added
	l.mail.added = nil
	l.mail.mu.Unlock()
	for _, v := range added {
		l.admit(v, now)
	}
	n.looked = time.Now()
	return n.looked.Sub(now)
}

// settle gives back what only newcomers need when none has come for a while.
func (n *newcomers) settle(now time.Time) {
	if n.until.IsZero() || now.After(n.until) {
		n.until = time.Time{}
		n.yielder.close()
	}
}

// giveWay lets other goroutines run between two rounds.
func (l *loop) giveWay() {
	if l.fresh.until.IsZero() {
		sys.WakeMonitor() // without it the runtime does not poll while there is always work
		runtime.Gosched()
		return
	}
	l.fresh.yielder.yield()
}

// turn is for how long the loop sends to those who are behind before it looks what else
// there is to do.
func (l *loop) turn() time.Duration {
	if l.fresh.until.IsZero() {
		return slice
	}
	return welcomeEvery
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
