//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"io"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/aio/internal/poller"
	"github.com/sluice-go/sluice/aio/internal/socket"
)

// progressWrites writes what is queued for as long as the socket takes it.
// Called with c.mu.
func (d *Driver) progressWrites(c *conn) {
	for c.ready&poller.Writable != 0 && c.writes.tail != nil {
		if t := c.writes.head(); t.kind.IsMark() {
			d.completeWrite(c, t, c.pass(c.name, t.kind))
			continue
		}
		d.writeCalls.Add(1)
		n, asked, err := writeQueue(c)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			d.blockedWrites(c)
			return
		case err == nil && n == 0:
			err = io.ErrUnexpectedEOF
			fallthrough
		case err != nil:
			d.completeWrite(c, c.writes.head(), c.failed("write", c.name, err))
			continue
		}
		d.wrote(c, n)
		if n < asked && c.Stream {
			d.blockedWrites(c)
			return
		}
	}
}

// blockedWrites records that the socket is full, and makes the poller report when it is
// writable again. Most connections never come here and never get such an event.
func (d *Driver) blockedWrites(c *conn) {
	c.ready &^= poller.Writable
	if c.ready&watchesWrites != 0 {
		return
	}
	c.ready |= watchesWrites
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.life.closed && !c.closed {
		// It cannot fail: the descriptor is there and the poller knows it.
		_ = d.poller.WatchWrites(int(c.FD), c.gen)
	}
}

// tryWrite writes buf, which was never queued, until all is out or the socket takes
// no more: EAGAIN then. Called with c.mu.
func (d *Driver) tryWrite(c *conn, buf []byte) (n int, err error) {
	for n < len(buf) {
		d.writeCalls.Add(1)
		k, err := c.Write(buf[n:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return n, err
		case k == 0:
			return n, io.ErrUnexpectedEOF
		}
		n += k
		if n < len(buf) && c.Stream {
			return n, unix.EAGAIN
		}
	}
	return n, nil
}

// writeQueue offers the kernel what is queued, as much as goes in one call. It
// returns how much that was. Called with c.mu.
func writeQueue(c *conn) (n, asked int, err error) {
	t := c.writes.head()
	if c.writes.after(t) == nil || !socket.CanGather || !c.Stream {
		if rest, whole := t.rest(); whole || !socket.CanGather {
			n, err = c.Write(rest)
			return n, len(rest), err
		}
	}
	g := socket.NewGather()
	defer g.Release()
	for ; t != nil && !g.Full() && t.kind != op.EndWrites; t = c.writes.after(t) {
		t.gather(g)
		if !c.Stream {
			break
		}
	}
	n, err = g.WriteTo(&c.Socket)
	return n, g.Size, err
}

// wrote accounts for n bytes that went out from the front of c's queue.
func (d *Driver) wrote(c *conn, n int) {
	for n > 0 {
		t := c.writes.head()
		k := min(n, t.size-t.done)
		t.done += k
		if t.more == nil || t.more.held == 0 {
			c.held -= k
		}
		n -= k
		if t.done == t.size {
			d.completeWrite(c, t, nil)
		}
	}
	for t := c.writes.head(); t != nil && t.kind.IsMark(); t = c.writes.head() {
		d.completeWrite(c, t, c.pass(c.name, t.kind))
	}
}
