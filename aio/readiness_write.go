//go:build unix && !aix && !solaris && !illumos

package aio

import (
	"io"

	"golang.org/x/sys/unix"
)

// progressWrites writes what is queued for as long as the socket takes it.
// Called with c.mu.
func (p *readiness) progressWrites(c *conn) {
	for c.ready&canWrite != 0 && c.writes.tail != nil {
		p.writeCalls.Add(1)
		n, asked, err := p.writeQueue(c)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			p.blockedWrites(c)
			return
		case err == nil && n == 0:
			err = io.ErrUnexpectedEOF
			fallthrough
		case err != nil:
			p.completeWrite(c, c.writes.head(), err)
			continue
		}
		p.wrote(c, n)
		if n < asked && c.stream {
			p.blockedWrites(c)
			return
		}
	}
}

// blockedWrites notes that the socket takes no more, and has the poller tell
// when it does. Connections that never come here, which are most, never get an
// event for being writable.
func (p *readiness) blockedWrites(c *conn) {
	c.ready &^= canWrite
	if c.watchWrites {
		return
	}
	c.watchWrites = true
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && !c.closed {
		// It cannot fail: the descriptor is there and the poller knows it.
		_ = p.poller.watchWrites(p.pollerFD(), int(c.fd), c.gen)
	}
}

// writeQueue offers the kernel what is queued, as much as goes in one call. It
// returns how much that was.
func (p *readiness) writeQueue(c *conn) (n, asked int, err error) {
	o := c.writes.head()
	if c.writes.after(o) == nil || !canGather || !c.stream {
		if rest, whole := o.rest(); whole || !canGather {
			n, err = c.write(rest)
			return n, len(rest), err
		}
	}
	g := gathers.Get().(*gather)
	defer gathers.Put(g)
	g.reset()
	for ; o != nil && g.add(o); o = c.writes.after(o) {
		if !c.stream {
			break
		}
	}
	n, err = g.write(c)
	return n, g.size, err
}

// rest returns what of o is still to be written, borrowed; or its first part and
// false when it lies in several.
func (o *op) rest() (p []byte, whole bool) {
	switch o.kind {
	case writeBytes:
		return o.buf[o.done:], true
	case writeBuf:
		return o.more.single.Bytes()[o.done:], true
	}
	skip := o.done
	for i, part := range o.more.memory.Buffers {
		if skip < len(part) {
			return part[skip:], i == len(o.more.memory.Buffers)-1
		}
		skip -= len(part)
	}
	return nil, true
}

// wrote accounts for n bytes that went out from the front of c's queue.
func (p *readiness) wrote(c *conn, n int) {
	for n > 0 {
		o := c.writes.head()
		k := min(n, o.size-o.done)
		o.done += k
		if o.more == nil || o.more.held == 0 {
			c.held -= k
		}
		n -= k
		if o.done == o.size {
			p.completeWrite(c, o, nil)
		}
	}
}

// maxGather is the most that one writev takes, IOV_MAX of Linux.
const maxGather = 1024
