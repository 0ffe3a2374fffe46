package live

import (
	"slices"
	"time"
)

// A loop sends to its share of a writer's viewers. What stands below the mail belongs
// to its goroutine.
type loop struct {
	forget func(*Viewer)
	ended  chan struct{}
	mail   mailbox

	groups  map[groupKey]*group
	viewers []*Viewer
	agenda  agenda    // of groups that have something new, and viewers whose socket was full
	behind  []*Viewer // those to go on with at once
	moved   []*group  // those to be surveyed
	scanAt  time.Time
	scanned time.Time // when it looked for those that stall for the last time
	fresh   newcomers
	socket  socketWriter
	own     batch // of the viewer that is sent something of its own
	load    load

	// What is sent to the group that is served, once. There may be thousands of groups, and what has held
	// thousands of tiny frames stays large.

	come   batch // what has come
	shared batch // the same, as they are sent it
}

// newLoop returns a loop that calls forget with the viewers that it has closed.
func newLoop(forget func(*Viewer)) *loop {
	l := &loop{
		forget: forget, ended: make(chan struct{}), groups: make(map[groupKey]*group),
		mail: mailbox{wake: make(chan struct{}, 1)},
	}
	l.socket.init()
	return l
}

func (l *loop) add(v *Viewer) {
	l.mail.post(func(m *mail) { m.added = append(m.added, v) })
}

// notify makes the loop apply what v was asked, or remove one that has closed itself.
func (l *loop) notify(v *Viewer) {
	l.mail.post(func(m *mail) { m.asked = append(m.asked, v) })
}

// serveSoon is called with the stream's lock held.
func (l *loop) serveSoon(g *group) {
	l.mail.post(func(m *mail) { m.notified = append(m.notified, g) })
}

// stop ends the loop when it has no viewer left, and waits for that.
func (l *loop) stop() {
	l.mail.post(func(m *mail) { m.stopping = true })
	<-l.ended
}

// group returns the group that v belongs to.
func (l *loop) group(v *Viewer) *group {
	k := groupKey{v.stream, v.cursor.form, v.options.merge, v.options.adapt}
	g := l.groups[k]
	if g == nil {
		g = newGroup(k, l.serveSoon)
		l.groups[k] = g
	}
	return g
}

// advance sends v more, and puts it where it belongs.
func (l *loop) advance(v *Viewer, upto uint64) {
	if err := v.advance(upto); err != nil {
		l.close(v, err)
		return
	}
	l.place(v)
	if v.state == stateClosed || !v.stream.watched.Load() {
		return
	}
	if g := l.group(v); !slices.Contains(l.moved, g) {
		l.moved = append(l.moved, g)
	}
}

func (l *loop) place(v *Viewer) {
	switch v.state {
	case stateBehind:
		l.behind = append(l.behind, v)
	case stateBlocked:
		l.agenda.set(v)
	case stateEnded:
		l.close(v, ErrEnded)
	}
}

// send sends v what its group is sent, in one call as a rule.
func (l *loop) send(v *Viewer, b *batch, to uint64) {
	n, err := v.link.send(b.parts, visit)
	if v.sent(b, n, to, visit) && err == nil {
		if v.finished(v.state); v.state == stateBlocked {
			l.place(v)
		}
		return
	}
	if err != nil {
		l.close(v, err)
		return
	}
	l.place(v)
}

// close ends v, and removes it from all lists but behind, which goOn cleans. With
// ErrEnded the socket is shut down in order.
func (l *loop) close(v *Viewer, err error) {
	if v.state == stateClosed {
		return
	}
	v.state = stateClosed
	l.agenda.remove(v)
	v.finish(err, l.forget)
	l.remove(v)
}

func (l *loop) remove(v *Viewer) {
	i := slices.Index(l.viewers, v)
	if i < 0 {
		return
	}
	n := len(l.viewers) - 1
	l.viewers[i] = l.viewers[n]
	l.viewers[n] = nil
	l.viewers = l.viewers[:n]
	g := l.group(v)
	g.remove(v)
	if len(g.viewers) == 0 {
		delete(l.groups, g.groupKey)
		l.agenda.remove(g)
		g.leave()
	}
}
