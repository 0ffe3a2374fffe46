package sluice

import (
	"context"
	"os"
	"time"

	"github.com/sluice-go/sluice/internal/hooks"
	"github.com/sluice-go/sluice/mem"
)

// What mem offers to readers but does not export.
var (
	awaitSlab  = hooks.AwaitSlab.(func(a *mem.Allocator, n, held int, stop <-chan error) (mem.Slab, error))
	noteKept   = hooks.Keep.(func(a *mem.Allocator, kept int))
	noteIdle   = hooks.Idle.(func(a *mem.Allocator, held int))
	budget     = hooks.Budget.(func(a *mem.Allocator) (limit int64, pressed bool))
	cachedSlab = hooks.CachedSlab.(func(a *mem.Allocator, n int) mem.Slab)
)

// awaitSlab waits in the queue for a block of n bytes, until the timeout,
// the context, the connection's own deadline or its Close ends that.
func (b *BufReader) awaitSlab(n int) (mem.Slab, error) {
	x := b.extras()
	h := x.halts()
	select {
	case <-h.reason: // of an earlier wait
	default:
	}
	if x.ctx != nil && x.ctx.Err() != nil { // what was just taken out, maybe
		h.because(context.Cause(x.ctx))
	}
	if x.timeout > 0 {
		rang := make(chan struct{})
		t := time.AfterFunc(x.timeout, func() {
			h.because(os.ErrDeadlineExceeded)
			close(rang)
		})
		defer func() {
			if !t.Stop() {
				<-rang // or it would end the next wait
			}
		}()
	}
	if b.src != nil {
		h.watch.Start(b.src, h.reason)
		defer h.watch.Stop()
	}
	b.keep(0)
	epoch := b.epoch
	s, err := awaitSlab(b.alloc, n, b.held(), h.reason)
	if b.epoch != epoch {
		if s.Valid() {
			s.Release()
		}
		panicReset()
	}
	return s, err
}

func init() {
	hooks.HoldBeside = (*BufReader).holdBeside
	hooks.AwaitBeside = (*BufReader).awaitBeside
}

// holdBeside sets how much capacity in bytes the reader's user keeps of messages that have
// come in part. It counts as the reader's own while that waits.
func (b *BufReader) holdBeside(held int) {
	if b.asks && (held > 0 || b.x != nil) {
		b.extras().beside = held
	}
}

// awaitBeside is awaitSlab for the reader's user. A reader that is fed does not wait.
func (b *BufReader) awaitBeside(n int) (mem.Slab, error) {
	switch b.kind {
	case closed:
		return mem.Slab{}, ErrClosed
	case fed:
		return b.alloc.TrySlab(n)
	}
	s, err := b.awaitSlab(n)
	if err != nil {
		err = b.x.explain(err)
	}
	return s, err
}

// held is the capacity that does not come back before more bytes have come.
func (b *BufReader) held() int {
	n := b.win.Capacity()
	if m, ok := b.src.(*messages); ok && m.block.Valid() {
		n += len(m.block.Bytes())
	}
	if b.x != nil {
		n += b.x.beside
	}
	return n
}

// beginIdle reports to the budget what is held during a wait for the peer.
func (b *BufReader) beginIdle() {
	if b.asks && b.reported <= 0 {
		b.keep(0)
		if b.reported = int32(min(b.held(), 1<<30)); b.reported > 0 {
			noteIdle(b.alloc, int(b.reported))
		}
	}
}

// endIdle takes beginIdle back.
func (b *BufReader) endIdle() {
	if b.reported > 0 {
		noteIdle(b.alloc, -int(b.reported))
		b.reported = 0
	}
}

// keep reports to the budget that n bytes of capacity are held outside of waits, of which
// it is the end.
func (b *BufReader) keep(n int) {
	b.endIdle()
	n = min(n, 1<<30)
	if more := n + int(b.reported); more != 0 {
		noteKept(b.alloc, more)
		b.reported = -int32(n)
	}
}
