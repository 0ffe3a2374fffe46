//go:build unix && !aix && !solaris && !illumos

package aio

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/mem"
)

func (p *readiness) writeMany(ctx any, conns []net.Conn, b *mem.Buf, slow SlowPolicy) (s Spread, err error) {
	for _, name := range conns {
		c, n := (*conn)(nil), 0
		if c, err = p.find(name); err == nil {
			c.mu.Lock()
			n, err = p.writeOne(c, name, ctx, b, slow, &s)
			c.mu.Unlock()
		}
		if err == ErrWatcherClosed {
			return s, err
		}
		if err != nil {
			s.Failed++
			p.mu.Lock()
			p.addWrite(name, ctx, nil, n, err)
			p.mu.Unlock()
		}
	}
	return s, nil
}

// writeOne writes b to c, and says how many bytes went out before an error. Called
// with c.mu.
func (p *readiness) writeOne(c *conn, name net.Conn, ctx any, b *mem.Buf, slow SlowPolicy, s *Spread) (n int, err error) {
	if c.closed {
		return 0, p.closedError()
	}
	waits := c.writes.tail != nil
	switch {
	case waits && slow == SlowSkip:
		s.Skipped++
		return 0, nil
	case waits && slow == SlowClose:
		s.Closed++
		p.mu.Lock()
		p.counters.Slow++
		p.mu.Unlock()
		p.drop(c, ErrQueueFull)
		return 0, nil
	case !waits && c.ready&canWrite != 0:
		n, err = p.tryWrite(c, b.Bytes())
		if n == b.Len() {
			s.Written++
			p.mu.Lock()
			p.countWrite(n)
			p.mu.Unlock()
			return n, nil
		}
		if err != unix.EAGAIN {
			return n, err
		}
		p.blockedWrites(c)
	}
	// Once for all connections that have to wait.
	b.Compact()
	r := request{kind: writeBuf, ctx: ctx, single: b.Retain(), quiet: true}
	err = p.queueWrite(c, name, &r, n)
	switch {
	case err == nil:
		s.Queued++
	case !errors.Is(err, ErrQueueFull):
		r.refuse()
		return n, err
	case p.options.QueuePolicy == QueueClose:
		r.refuse()
		s.Closed++
	default:
		r.refuse()
		s.Skipped++
	}
	return n, nil
}
