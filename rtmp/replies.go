package rtmp

// mostOwed is how many bytes of replies may wait while more input is at
// hand.
const mostOwed = 4096

// mostLate is how many replies wait for the goroutine that sends them: a peer that has so many pings
// unanswered reads nothing.
const mostLate = 256

// tryLock begins the use of what mu protects for an answer, unless another goroutine writes: its
// answers are late from then on.
func (c *Conn) tryLock() bool {
	if !c.late.shared.Load() && c.mu.TryLock() {
		return true
	}
	c.late.shared.Store(true)
	return false
}

// reply writes a reply, and leaves the flush to ReadMessage unless much waits. What the writer says
// against it stays with the writer: see settle.
func (c *Conn) reply(p reply) {
	if !c.tryLock() {
		c.replyLate(p)
		return
	}
	c.writeReply(p)
	many := c.w.Buffered() >= mostOwed
	c.mu.Unlock()
	c.owed = true
	if many {
		c.settle()
	}
}

// settle flushes replies that wait. An error does not stop reading: a publisher
// that has sent everything closes without waiting for replies, and much of its data
// may still be on the way. The writer returns the error again to its next caller.
func (c *Conn) settle() {
	if !c.owed {
		return
	}
	c.owed = false
	if !c.tryLock() {
		c.late.mu.Lock()
		c.startLate()
		c.late.mu.Unlock()
		return
	}
	_ = c.w.Flush()
	c.mu.Unlock()
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
	c.startLate()
}

// startLate starts sendLate. Its lock is held.
func (c *Conn) startLate() {
	if !c.late.sending {
		c.late.sending = true
		go c.sendLate()
	}
}

// sendLate sends what waits, and replies until there are none.
func (c *Conn) sendLate() {
	l := &c.late
	l.mu.Lock()
	defer l.mu.Unlock()
	for more := true; more; more = len(l.list) > 0 {
		list := l.list
		l.list = nil
		l.changed.Broadcast()
		l.mu.Unlock()
		c.mu.Lock()
		for _, p := range list {
			c.writeReply(p)
		}
		_ = c.w.Flush()
		c.mu.Unlock()
		l.mu.Lock()
	}
	l.sending = false
	l.changed.Broadcast()
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
