package load

import (
	"context"
	"errors"
	"net"
	"time"
)

// Delay before a failed connection is tried again, doubled each time.
const (
	firstBackoff = 10 * time.Millisecond
	lastBackoff  = 500 * time.Millisecond
)

// broken ends a connection that has failed. It redials after a reset on purpose, or if
// the plan has Redial; otherwise it returns err.
func (l *loop) broken(ctx context.Context, number int, err error) error {
	peer := &l.peers[number]
	l.transport.close(number, true)
	peer.open = false
	now := l.now()
	switch {
	case !errors.Is(err, errReopen):
		l.unanswered(peer.pipeline, now)
		lost := peer.pipeline.lost(now)
		if l.fault(err, lost); !l.plan.Redial {
			return err
		}
		peer.target++
	case peer.pipeline.count == 0 && l.done(peer.pipeline, now):
		l.finish(number)
		return nil
	default:
		l.resent.Add(uint64(peer.pipeline.count))
		peer.pipeline.again(now)
	}
	l.redials.Add(1)
	l.redial(ctx, number, 0)
	return nil
}

type dialed struct {
	peer int
	conn net.Conn
	err  error
}

func (l *loop) redial(ctx context.Context, number int, after time.Duration) {
	target := l.peers[number].target
	l.dialing.Go(func() {
		if !pause(ctx, after) {
			return
		}
		conn, err := l.connect(ctx, target)
		l.dialed <- dialed{number, conn, err}
		l.transport.wake()
	})
}

func (l *loop) reconnect(ctx context.Context) error {
	for {
		var d dialed
		select {
		case d = <-l.dialed:
		default:
			return nil
		}
		peer, now := &l.peers[d.peer], l.now()
		switch {
		case d.err == nil:
			if err := l.open(d.peer, d.conn); err != nil {
				return err
			}
			peer.pipeline.ready = now
			if err := l.serve(ctx, d.peer, ready{}); err != nil {
				return err
			}
		case ctx.Err() != nil || now >= l.end:
			l.abandon(peer.pipeline)
			l.finish(d.peer)
		default:
			if l.fault(d.err, 1); !l.plan.Redial {
				return d.err
			}
			peer.tries++
			peer.target++
			l.redial(ctx, d.peer, min(lastBackoff, firstBackoff<<min(peer.tries, 10)))
		}
	}
}
