//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/aio/internal/poller"
	"github.com/sluice-go/sluice/mem"
)

// WriteMany writes b, borrowed, to each of conns.
func (d *Driver) WriteMany(ctx any, conns []net.Conn, b *mem.Buf, slow op.Slow) (s op.Spread, err error) {
	for _, name := range conns {
		c, n := (*conn)(nil), 0
		if c, err = d.lock(name); err == nil {
			n, err = d.writeOne(c, name, ctx, b, slow, &s)
			d.unlock(c)
		}
		if err == op.ErrWatcherClosed {
			return s, err
		}
		if err != nil {
			d.mu.Lock()
			if d.life.closed {
				d.mu.Unlock()
				return s, op.ErrWatcherClosed
			}
			d.addWrite(name, ctx, nil, n, err)
			d.mu.Unlock()
			s.Failed++
		}
	}
	return s, nil
}

// writeOne writes b to c, and says how many bytes went out before an error. Called
// with c.mu.
func (d *Driver) writeOne(c *conn, name net.Conn, ctx any, b *mem.Buf, slow op.Slow, s *op.Spread) (n int, err error) {
	if d.refuses(c) {
		return 0, d.closedError()
	}
	waits := c.writes.tail != nil
	switch {
	case waits && slow == op.SlowSkip:
		s.Skipped++
		return 0, nil
	case waits && slow == op.SlowClose:
		s.Closed++
		d.mu.Lock()
		d.counters.Slow++
		d.mu.Unlock()
		d.drop(c, op.ErrQueueFull)
		return 0, nil
	case !waits && c.ready&poller.Writable != 0:
		n, err = d.tryWrite(c, b.Bytes())
		if n == b.Len() {
			s.Written++
			d.mu.Lock()
			d.countWrite(n)
			d.mu.Unlock()
			return n, nil
		}
		if err != unix.EAGAIN {
			return n, c.failed("write", name, err)
		}
		d.blockedWrites(c)
	}
	// Once for all connections that have to wait.
	if runsFree(*b) {
		d.setAside(transferred{single: b.Retain()})
	}
	b.Compact()
	r := op.Request{Kind: op.WriteBuf, Ctx: ctx, Single: b.Retain(), Quiet: true}
	err = d.queueWrite(c, name, &r, n)
	switch {
	case err == nil:
		s.Queued++
	case !errors.Is(err, op.ErrQueueFull):
		r.Release()
		return n, err
	case d.settings.CloseWhenFull:
		r.Release()
		s.Closed++
	default:
		r.Release()
		s.Skipped++
	}
	return n, nil
}
