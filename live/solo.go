package live

import (
	"errors"
	"os"
)

// A solo is the goroutine of a viewer whose connection has to be waited for.
type solo struct {
	kick  chan struct{}
	ended func(*Viewer) // called when the goroutine has ended
	own   batch
}

func newSolo(ended func(*Viewer)) *solo {
	return &solo{kick: make(chan struct{}, 1), ended: ended}
}

func (o *solo) notify(*Viewer) {
	select {
	case o.kick <- struct{}{}:
	default:
	}
}

// run sends to v until it is to be closed, and closes it.
func (o *solo) run(v *Viewer, forget func(*Viewer)) {
	err := o.runUntil(v)
	if asked := v.inbox.take().close; asked != nil {
		err = asked // Close may have interrupted the write
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrStalled
	}
	v.finish(err, forget)
	o.ended(v)
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
