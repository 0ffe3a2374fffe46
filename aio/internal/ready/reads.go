//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"io"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/aio/internal/blocks"
	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/aio/internal/poller"
	"github.com/sluice-go/sluice/mem"
)

// progressReads carries out reads while the socket has bytes. inWait says that the
// caller is in Wait; other callers leave reads without a buffer to Wait, which owns
// that memory. It reports whether the memory of this round was used up before all
// reads were done. Called with c.mu.
func (d *Driver) progressReads(c *conn, inWait bool) (more bool) {
	for c.ready&poller.Readable != 0 && c.reads.tail != nil {
		t := c.reads.head()
		if t.kind == op.Accept {
			if !d.accept(c, t) {
				return false
			}
			continue
		}
		room := t.buf[t.done:]
		if t.kind == op.ReadLeased || t.kind == op.ReadCounted {
			if !inWait {
				d.leaveToWait(c)
				return false
			}
			var err error
			if room, err = d.roomFor(c, t); err != nil {
				d.completeRead(c, t, outcome{err: err})
				continue
			}
			if room == nil {
				return true
			}
		}
		d.readCalls.Add(1)
		n, err := c.Read(room)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			if own := t.ownRoom(); own != nil {
				own.Release() // memory is taken when bytes have come
			}
			c.ready &^= poller.Readable
			return false
		case err != nil:
			d.completeRead(c, t, outcome{err: c.failed("read", c.name, err)})
			continue
		case n == 0 && !c.Datagram:
			d.completeRead(c, t, outcome{err: io.EOF})
			continue
		}
		if c.drained(n, len(room)) {
			c.ready &^= poller.Readable
		}
		t.done += n
		d.readBytes(c, t, n)
	}
	return false
}

// roomFor returns memory of this round for t, or nil when it is used up.
func (d *Driver) roomFor(c *conn, t *task) ([]byte, error) {
	least := blocks.SmallRoom
	if !c.Stream {
		least = d.settings.BufferSize // what is left of a message would be thrown away
	}
	if t.kind == op.ReadLeased {
		return d.leased.Room(least), nil
	}
	if own := t.ownRoom(); own != nil {
		c.refused = false
		return own.Bytes()[:min(len(own.Bytes()), d.settings.BufferSize)], nil
	}
	room, err := d.round.counted.Room(t.size, least)
	c.refused = err != nil
	return room, err
}

// readBytes completes t if the n bytes that it has just read are enough. Called with
// c.mu.
func (d *Driver) readBytes(c *conn, t *task, n int) {
	switch t.kind {
	case op.ReadLeased:
		d.completeRead(c, t, outcome{buffer: d.leased.Keep(n), leased: true})
	case op.ReadCounted:
		if n == 0 { // an empty datagram: there is nothing to be released
			d.completeRead(c, t, outcome{})
			return
		}
		var b mem.Buf
		if own := t.ownRoom(); own != nil {
			b = own.Cut(0, n)
			own.Release()
			b.Compact()
		} else {
			b = d.round.counted.Keep(n)
		}
		d.completeRead(c, t, outcome{buffer: b.Bytes(), counted: b}) //sluice:moved
	case op.ReadSome:
		d.completeRead(c, t, outcome{})
	case op.ReadFull:
		if t.done == len(t.buf) {
			d.completeRead(c, t, outcome{})
		}
	}
}

// leaveToWait makes the goroutine in Wait read from c. Called with c.mu.
func (d *Driver) leaveToWait(c *conn) {
	d.mu.Lock()
	d.backlog.push(c)
	d.poller.Wake()
	d.mu.Unlock()
}
