package live

import (
	"context"
	"errors"
	"os"
)

// A solo is the goroutine of a viewer whose connection has to be waited for.
type solo struct {
	kick  chan struct{}
	ended func(*Viewer) // called when the goroutine has ended
	own   batch

	shaking context.Context // of the handshake of TLS
	stop    context.CancelFunc
}

func newSolo(ended func(*Viewer)) *solo {
	o := &solo{kick: make(chan struct{}, 1), ended: ended}
	o.shaking, o.stop = context.WithCancel(context.Background())
	return o
}

func (o *solo) notify(*Viewer) {
	select {
	case o.kick <- struct{}{}:
	default:
	}
}

// run sends to v until it is to be closed, and closes it.
func (o *solo) run(v *Viewer, forget func(*Viewer)) {
	err := o.handshake(v)
	if err == nil {
		err = o.runUntil(v)
	}
	if asked := v.inbox.take().close; asked != nil {
		err = asked // Close may have interrupted the write
	} else if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		err = ErrStalled
	}
	v.finish(err, forget)
	o.ended(v)
}

// handshake does what the first Write over TLS would: there it would wait for the peer's
// bytes, which the deadline of a write does not end.
func (o *solo) handshake(v *Viewer) error {
	defer o.stop()
	c, ok := v.link.conn.(interface {
		HandshakeContext(ctx context.Context) error
	})
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(o.shaking, v.limits.Stall)
	defer cancel()
	return c.HandshakeContext(ctx)
}

func (o *solo) runUntil(v *Viewer) error {
	v.slowDown() // a Write that waits does not say so
	for {
		if err := v.applyRequest(); err != nil {
			return err
		}
		if err := v.advance(0); err != nil {
			return err
		}
		switch v.state {
		case stateEnded:
			return ErrEnded
		case stateBehind:
		case stateBlocked:
			// Only an error can have cut it short.
			return ErrStalled
		default:
			<-o.kick
		}
	}
}
