//go:build unix && !aix && !solaris && !illumos

package aio

// readyList holds connections that are known to be readable and whose reads are
// left to whoever is in wait. First come, first served: otherwise the memory of a
// round goes to the same connections again and again.
type readyList struct{ head, tail *conn }

func (l *readyList) push(c *conn) {
	c.inReady = true
	if l.tail == nil {
		l.head = c
	} else {
		l.tail.nextReady = c
	}
	l.tail = c
}

// pop returns the first connection of the list, or nil.
func (l *readyList) pop() *conn {
	c := l.head
	if c == nil {
		return nil
	}
	l.head, c.nextReady = c.nextReady, nil
	if l.head == nil {
		l.tail = nil
	}
	c.inReady = false
	return c
}

// prepend puts before l what is left of an older list, and empties that.
func (l *readyList) prepend(older *readyList) {
	if older.tail == nil {
		return
	}
	older.tail.nextReady = l.head
	l.head = older.head
	if l.tail == nil {
		l.tail = older.tail
	}
	*older = readyList{}
}

// pushFirst puts c before all others.
func (l *readyList) pushFirst(c *conn) {
	c.inReady = true
	l.prepend(&readyList{head: c, tail: c})
}

// leaveToWait lists c for whoever is in wait to read from. Called with c.mu.
func (p *readiness) leaveToWait(c *conn, inWait bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case c.inReady:
	case c.refused:
		p.refused.push(c)
	default:
		p.ready.push(c)
	}
	if !inWait {
		p.wake()
	}
}

// anyReady says that a connection is left to wait. Called with p.mu.
func (p *readiness) anyReady() bool { return p.ready.head != nil || p.refused.head != nil }

// runReady reads from the connections that were left to wait, those first that
// the budget refused the last time: a program that submits such reads again does
// so in the order of the results, and the same would be refused for ever. It is
// called with p.mu, and gives it up meanwhile.
func (p *readiness) runReady() {
	p.ready.prepend(&p.refused)
	// What is submitted meanwhile waits for the next round.
	list := p.ready
	p.ready = readyList{}
	for c := list.pop(); c != nil; c = list.pop() {
		p.mu.Unlock()
		c.mu.Lock()
		got, more := p.readInWait(c)
		c.mu.Unlock()
		p.mu.Lock()
		if !more {
			continue
		}
		// The memory of this round is used up. A connection that had its share
		// goes behind the others.
		switch {
		case c.inReady:
		case got:
			p.ready.push(c)
		default:
			list.pushFirst(c)
		}
		break
	}
	p.ready.prepend(&list)
}

// readInWait is progressReads for whoever is in wait. It says whether a read has
// completed, and whether more would have if there had been memory. Called with c.mu.
func (p *readiness) readInWait(c *conn) (got, more bool) {
	before := c.pending
	more = p.progressReads(c, true)
	return c.pending != before, more
}
