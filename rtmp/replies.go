package rtmp

import (
	"sync"
	"sync/atomic"
)

// A reply is what this side says because of what it has read.
type reply struct {
	typ   MessageType
	event Event // of TypeUserControl
	value uint32
}

// mostLate is how many replies wait for the goroutine that sends them: a peer that has so many pings
// unanswered reads nothing.
const mostLate = 256

// lateReplies are those of a connection that is written to while it is read: the goroutine that reads
// does not send them itself. If it did, and both ends sent more than their sockets hold, each would wait
// for the other one to read.
type lateReplies struct {
	reading atomic.Bool // ReadMessage runs
	shared  atomic.Bool // something was written meanwhile

	mu      sync.Mutex
	changed sync.Cond // of mu
	list    []reply
	sending bool // sendLate runs
}

// reply writes a reply, and leaves the flush to ReadMessage unless much waits. What the writer says
// against it stays with the writer: see settle.
func (c *Conn) reply(p reply) {
	if c.late.shared.Load() {
		c.replyLate(p)
		return
	}
	c.mu.Lock()
	c.writeReply(p)
	many := c.w.Buffered() >= mostOwed
	c.mu.Unlock()
	c.owed = true
	if many {
		c.settle()
	}
}

// writeReply writes a reply. The lock is held.
func (c *Conn) writeReply(p reply) {
	if p.typ == TypeUserControl {
		_ = c.out.writeEvent(p.event, p.value)
	} else {
		_ = c.out.writeControl(p.typ, p.value)
	}
}

// replyLate gives a reply to sendLate. Of several acknowledgements the newest says all.
func (c *Conn) replyLate(p reply) {
	l := &c.late
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.list {
		if p.typ == TypeAcknowledgement && l.list[i].typ == p.typ {
			l.list[i] = p
			return
		}
	}
	for len(l.list) >= mostLate {
		l.changed.Wait()
	}
	l.list = append(l.list, p)
	if !l.sending {
		l.sending = true
		go c.sendLate()
	}
}

// sendLate sends replies until none waits.
func (c *Conn) sendLate() {
	l := &c.late
	for {
		l.mu.Lock()
		list := l.list
		l.list = nil
		l.sending = len(list) > 0
		l.changed.Broadcast()
		l.mu.Unlock()
		if len(list) == 0 {
			return
		}
		c.mu.Lock()
		for _, p := range list {
			c.writeReply(p)
		}
		_ = c.w.Flush()
		c.mu.Unlock()
	}
}

// awaitLate returns when no reply waits.
func (c *Conn) awaitLate() {
	l := &c.late
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.sending {
		l.changed.Wait()
	}
}
