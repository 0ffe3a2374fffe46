//go:build unix && !aix && !solaris && !illumos

package ready

// backlog holds the connections that are known to be readable and whose reads are
// left to the goroutine in Wait.
type backlog struct {
	ready   connList
	refused connList // those that the budget refused the last time
}

// push adds c, if it is not there.
func (b *backlog) push(c *conn) {
	switch {
	case c.inBacklog:
	case c.refused:
		b.refused.push(c)
	default:
		b.ready.push(c)
	}
}

// empty reports whether there is no connection.
func (b *backlog) empty() bool { return b.ready.head == nil && b.refused.head == nil }

// takeAll removes and returns all of them, first those that the budget refused. A
// program submits such reads again in the order of the results: without this the same
// connections would be refused for ever.
func (b *backlog) takeAll() connList {
	b.ready.prepend(&b.refused)
	list := b.ready
	b.ready = connList{}
	return list
}

// connList is a list of connections. First come, first served: otherwise the memory
// of a round goes to the same connections again and again.
type connList struct{ head, tail *conn }

func (l *connList) push(c *conn) {
	c.inBacklog = true
	if l.tail == nil {
		l.head = c
	} else {
		l.tail.nextBacklog = c
	}
	l.tail = c
}

// pop returns the first connection of the list, or nil.
func (l *connList) pop() *conn {
	c := l.head
	if c == nil {
		return nil
	}
	l.head, c.nextBacklog = c.nextBacklog, nil
	if l.head == nil {
		l.tail = nil
	}
	c.inBacklog = false
	return c
}

// prepend puts before l what is left of an older list, and empties that.
func (l *connList) prepend(older *connList) {
	if older.tail == nil {
		return
	}
	older.tail.nextBacklog = l.head
	l.head = older.head
	if l.tail == nil {
		l.tail = older.tail
	}
	*older = connList{}
}

// pushFirst puts c before all others.
func (l *connList) pushFirst(c *conn) {
	c.inBacklog = true
	l.prepend(&connList{head: c, tail: c})
}
