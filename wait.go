package sluice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sluice-go/sluice/mem"
)

// deadliner is what SetTimeout and SetContext need of a source.
type deadliner interface{ SetReadDeadline(time.Time) error }

// straighten sets straight: whether reads may take the fast path, see fill.
func (b *BufReader) straighten() {
	b.straight = b.kind == plain && !b.asks && b.unwatched()
}

// unwatched reports whether neither a timeout nor a context ends reads.
func (b *BufReader) unwatched() bool { return b.x == nil || b.x.timeout == 0 && b.x.ctx == nil }

// errTimeout is what a source without deadlines of its own returns in time.
var errTimeout error = &Error{op: "read", Err: os.ErrDeadlineExceeded}

// SetTimeout bounds each wait for bytes from now on: after d without any a call
// returns an error that matches os.ErrDeadlineExceeded and can be
// repeated. 0 ends that. It sets the source's read deadline before each read,
// so it needs a source that has one (SetReadDeadline) or that NewBufReaderChan
// made; for others it returns os.ErrNoDeadline. Reset ends it.
//
// A single byte ends a wait. What bounds a whole frame, however its bytes come, is the
// read deadline that the program itself sets on the connection, without SetTimeout:
// after Peek(1), for example.
func (b *BufReader) SetTimeout(d time.Duration) error {
	if d < 0 {
		panic(fmt.Sprintf("sluice: BufReader.SetTimeout(%v)", d))
	}
	if b.kind == closed {
		return ErrClosed
	}
	c, ok := b.src.(deadliner)
	if !ok && b.kind != mouth {
		return os.ErrNoDeadline
	}
	if had := b.x != nil && b.x.timeout > 0; ok && had != (d > 0) {
		// At its begin, too: a file has the method, and may have no deadlines.
		if err := setDeadline(c, time.Time{}); err != nil {
			return err
		}
	}
	b.extras().timeout = d
	b.straighten()
	return nil
}

// SetContext makes reads fail with the context's cause once it is done, a
// read that waits included, where the source has a read deadline or was made
// by NewBufReaderChan; over other sources it is checked before each read.
// context.Background() ends that. Reset ends it too.
//
// It takes over the source's read deadline: when the context ends, the deadline
// is set to the past, and the next SetContext clears it.
func (b *BufReader) SetContext(ctx context.Context) {
	if b.x != nil {
		b.x.endContext()
	}
	defer b.straighten()
	if ctx == nil || ctx.Done() == nil || b.kind == closed {
		return
	}
	x := b.extras()
	x.ctx = ctx
	c, timed := b.src.(deadliner)
	if !timed && !b.asks {
		return
	}
	var h *halt
	if b.asks {
		h = x.halts()
	}
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(done)
		if timed {
			_ = c.SetReadDeadline(time.Unix(1, 0))
		}
		if h != nil {
			h.because(context.Cause(ctx))
		}
	})
	x.stop = func() {
		if cancel() {
			return
		}
		// The deadline is cleared after it was moved, not before.
		<-done
		if timed {
			_ = c.SetReadDeadline(time.Time{})
		}
	}
}

// arm prepares for a wait: sets the deadline, looks at the context.
func (x *extra) arm(b *BufReader) error {
	if x.timeout > 0 {
		if c, ok := b.src.(deadliner); ok {
			if err := setDeadline(c, time.Now().Add(x.timeout)); err != nil {
				return err
			}
		}
	}
	// After the deadline was set: a context that ends from here on moves it.
	if x.ctx != nil && x.ctx.Err() != nil {
		return x.ctxErr()
	}
	return nil
}

// setDeadline sets a read deadline. A net.Pipe whose other end is closed refuses
// one; its Read does not wait, and says what the end is.
func setDeadline(c deadliner, at time.Time) error {
	if err := c.SetReadDeadline(at); err != io.ErrClosedPipe {
		return err
	}
	return nil
}

// explain names the context as the cause of a deadline that it set, and makes a
// connection's own error of one match os.ErrDeadlineExceeded.
func (x *extra) explain(err error) error {
	if x.timeout == 0 && x.ctx == nil {
		return err // no end of a wait that is ours; looking closer allocates
	}
	own := !errors.Is(err, os.ErrDeadlineExceeded)
	if own && (errors.Is(err, mem.ErrBudget) || !(&Error{Err: err}).Timeout()) {
		return err
	}
	if x.ctx != nil && x.ctx.Err() != nil {
		return x.ctxErr()
	}
	if own && x.timeout > 0 {
		return &Error{op: "read", Err: fmt.Errorf("%w: %w", os.ErrDeadlineExceeded, err)}
	}
	return err
}

// lasting reports whether waiting for more bytes is useless after err: the stream
// has ended or failed.
func (b *BufReader) lasting(err error) bool {
	if x := b.x; x != nil && x.ctx != nil && x.ctx.Err() != nil && err != io.EOF && errors.Is(err, context.Cause(x.ctx)) {
		return false
	}
	for _, passing := range []error{ErrTooLong, ErrShort, ErrClosed, mem.ErrBudget} {
		if errors.Is(err, passing) {
			return false
		}
	}
	return !(&Error{Err: err}).Timeout()
}
