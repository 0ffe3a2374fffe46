package std

import (
	"errors"
	"net"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

// WriteMany writes b, borrowed, to each of conns.
func (d *Driver) WriteMany(ctx any, conns []net.Conn, b *mem.Buf, slow op.Slow) (spread op.Spread, err error) {
	b.Compact() // once for all of them
	for _, conn := range conns {
		if slow != op.SlowQueue && d.lags(conn, slow) {
			if slow == op.SlowSkip {
				spread.Skipped++
			} else {
				spread.Closed++
			}
			continue
		}
		r := op.Request{Kind: op.WriteBuf, Ctx: ctx, Single: b.Retain(), Quiet: true}
		if err = identifiable(conn); err == nil {
			err = d.accept(conn, r)
		} else {
			r.Release()
		}
		switch {
		case err == nil:
			spread.Queued++
		case err == op.ErrWatcherClosed:
			return spread, err
		case errors.Is(err, op.ErrQueueFull) && d.settings.CloseWhenFull:
			spread.Closed++
		case errors.Is(err, op.ErrQueueFull):
			spread.Skipped++
		default:
			spread.Failed++
			if d.overflowed(conn) {
				// What was pending may complete after this, which is the same end.
				err = op.ErrQueueFull
			}
			if err = d.completeRefused(conn, &op.Request{Kind: op.WriteBuf, Ctx: ctx}, err); err != nil {
				return spread, err
			}
		}
	}
	return spread, nil
}

// overflowed reports whether conn is being closed because of its queue.
func (d *Driver) overflowed(conn net.Conn) bool {
	if identifiable(conn) != nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.table.conns[conn]
	return c != nil && c.ending == op.ErrQueueFull
}

// lags reports whether conn has not yet taken what was written to it before, and closes
// it then if slow asks for that.
func (d *Driver) lags(conn net.Conn, slow op.Slow) bool {
	if identifiable(conn) != nil {
		return false
	}
	d.mu.Lock()
	c := d.table.conns[conn]
	lags := c != nil && c.ending == nil && c.writes.queued > 0
	closes := lags && slow == op.SlowClose && d.life.state == open
	cut := false
	if closes {
		d.counters.Slow++
		cut = d.end(c, op.ErrQueueFull)
		d.life.goroutines++
	}
	d.mu.Unlock()
	if closes {
		go d.closeConn(conn, cut)
	}
	return lags
}
