package aio

import (
	"errors"
	"net"

	"github.com/sluice-go/sluice/mem"
)

func (s *std) writeMany(ctx any, conns []net.Conn, b *mem.Buf, slow SlowPolicy) (spread Spread, err error) {
	b.Compact() // once for all of them
	for _, conn := range conns {
		if slow != SlowQueue && s.lags(conn, slow) {
			if slow == SlowSkip {
				spread.Skipped++
			} else {
				spread.Closed++
			}
			continue
		}
		r := request{kind: writeBuf, ctx: ctx, single: b.Retain(), quiet: true}
		if err = identifiable(conn); err == nil {
			err = s.accept(conn, r)
		} else {
			r.refuse()
		}
		switch {
		case err == nil:
			spread.Queued++
		case err == ErrWatcherClosed:
			return spread, err
		case errors.Is(err, ErrQueueFull) && s.options.QueuePolicy == QueueClose:
			spread.Closed++
		case errors.Is(err, ErrQueueFull):
			spread.Skipped++
		default:
			spread.Failed++
			if err = s.completeRefused(conn, &request{kind: writeBuf, ctx: ctx}, err); err != nil {
				return spread, err
			}
		}
	}
	return spread, nil
}

// lags says that conn has not yet taken what was written to it before, and closes
// it for that if slow says so.
func (s *std) lags(conn net.Conn, slow SlowPolicy) bool {
	if identifiable(conn) != nil {
		return false
	}
	s.mu.Lock()
	c := s.conns[conn]
	lags := c != nil && c.ending == nil && c.writes.queued > 0
	closes := lags && slow == SlowClose && s.state == stdOpen
	if closes {
		s.count.Slow++
		s.end(c, ErrQueueFull)
		s.routines++
	}
	s.mu.Unlock()
	if closes {
		go s.closeConn(conn)
	}
	return lags
}
