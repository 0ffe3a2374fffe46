package mem

import (
	"sync/atomic"
	"time"
)

// A ticket is a place in the queue for room in a budget. It is served by
// charging its size and sending on ready: the charge belongs to the ticket's
// owner from then on, and no other caller competes for it.
type ticket struct {
	size int   // capacity wanted
	held int64 // capacity in its owner's hands meanwhile
	came time.Time
	// ready has room for the one message that a ticket gets, so that serving
	// never blocks, and an empty ticket can be used again.
	ready      chan struct{}
	prev, next *ticket // nil when it is not in a queue
}

// A queue holds the waiting tickets, first in, first out. It is used with the
// budget's mu held; only its length can be read without it.
type queue struct {
	ring  ticket // before the first and after the last
	n     atomic.Int64
	held  int64     // of all tickets
	since time.Time // when the first became that
	moved time.Time // when room last came back for one, or the queue began
	stood bool      // no room had come back for standTime; until the queue is empty
}

func (q *queue) init() { q.ring.prev, q.ring.next = &q.ring, &q.ring }

func (q *queue) len() int { return int(q.n.Load()) }

// first returns the ticket that has waited longest, nil when there is none.
func (q *queue) first() *ticket {
	if t := q.ring.next; t != &q.ring {
		return t
	}
	return nil
}

// nearest returns the ticket whose owner holds most, of several the first.
func (q *queue) nearest() *ticket {
	most := q.first()
	for t := most; t != nil && t != &q.ring; t = t.next {
		if t.held > most.held {
			most = t
		}
	}
	return most
}

func (q *queue) push(t *ticket) {
	t.prev, t.next = q.ring.prev, &q.ring
	t.prev.next, t.next.prev = t, t
	if t.prev == &q.ring {
		q.since, q.moved, q.stood = t.came, t.came, false
	}
	q.held += t.held
	q.n.Add(1)
}

func (q *queue) remove(t *ticket) {
	if t.prev == &q.ring {
		q.since = time.Now()
	}
	t.prev.next, t.next.prev = t.next, t.prev
	t.prev, t.next = nil, nil
	q.held -= t.held
	q.n.Add(-1)
}

// join takes a place at the end of the queue, for size bytes.
func (u *budget) join(size, held int) *ticket {
	t, _ := u.spare.Get().(*ticket)
	if t == nil {
		t = &ticket{ready: make(chan struct{}, 1)}
	}
	t.size, t.held, t.came = size, int64(held), time.Now()
	u.mu.Lock()
	u.queue.push(t)
	u.begin()
	u.settle()
	u.mu.Unlock()
	return t
}

// served is the end of a ticket whose message was received.
func (u *budget) served(t *ticket) { u.spare.Put(t) }

// leave is the end of a ticket whose owner waits no longer. It reports whether
// the ticket was served all the same: then its size is charged.
func (u *budget) leave(t *ticket) (charged bool) {
	u.mu.Lock()
	if t.next == nil {
		charged = true
		<-t.ready
	} else {
		u.queue.remove(t)
		u.settle()
	}
	u.mu.Unlock()
	u.spare.Put(t)
	return charged
}

// settle serves all tickets that can be served, in order, and sets the marks at
// which it has to be called again. It ends the pressure when no ticket waits and
// an eighth of the budget is free. It is called with mu held, after every change.
func (u *budget) settle() {
	for {
		u.lookOver()
		t := u.queue.first()
		for t != nil {
			served := t
			if !u.try(t.size) {
				if served = u.overdraw(t); served == nil {
					break
				}
			} else {
				u.queue.moved = time.Now()
			}
			u.queue.remove(served)
			served.ready <- struct{}{}
			t = u.queue.first()
		}
		u.setMarks(t)
		if u.settled() {
			break
		}
	}
	if u.missed && u.queue.len() > 0 {
		u.alarm.set(u, u.called.Add(callAgain))
	}
}

// setMarks sets the marks for t, the first in the queue, or for an empty queue,
// and the alarm for what depends only on time.
func (u *budget) setMarks(t *ticket) {
	room, idle, kept := int64(noRoomMark), int64(noIdleMark), int64(noIdleMark)
	switch {
	case t == nil:
		if enough := u.limit - u.limit/8; u.pressure.Load() && u.charged.Load() > enough {
			room = enough
		} else if u.pressure.Load() {
			u.setPressure(false)
		}
	case u.stuck(t) && !u.mayOverdraw():
		room = u.limit - int64(t.size)
		u.alarm.set(u, u.overdraftAfter())
	default:
		room = u.limit - int64(t.size)
		idle = room - u.queue.held
		if kept = idle; u.idle.Load()+u.kept.bytes.Load() > kept {
			kept = noIdleMark
			u.alarm.set(u, u.queue.standsAt())
		}
	}
	if u.over.out {
		room = max(room, u.over.base)
	}
	u.roomMark.Store(room)
	u.idleMark.Store(idle)
	u.kept.mark.Store(kept)
}

// An alarm is the one timer of a queue. Setting it costs nothing while it is
// set for an earlier time: it then goes off early, and is set again if there
// is still need.
type alarm struct {
	timer *time.Timer
	at    time.Time // zero when it is not set
}

// set lets the alarm go off at that time or before. It is called with u.mu
// held.
func (m *alarm) set(u *budget, at time.Time) {
	if !m.at.IsZero() && !at.Before(m.at) {
		return
	}
	m.at = at
	d := time.Until(at)
	if m.timer == nil {
		m.timer = time.AfterFunc(d, u.lookAgain)
	} else {
		m.timer.Reset(d)
	}
}

// lookAgain runs when the alarm goes off.
func (u *budget) lookAgain() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.alarm.at = time.Time{}
	if u.missed && u.queue.len() > 0 {
		u.callInAgain()
	}
	u.settle()
}
