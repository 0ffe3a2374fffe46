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
	epoch := b.epoch
	s, err := awaitSlab(b.alloc, n, b.win.Capacity(), h.reason)
	if b.epoch != epoch {
		if s.Valid() {
			s.Release()
		}
		panicReset()
	}
	return s, err
}

// beginIdle reports to the budget what is held during a wait for the peer.
func (b *BufReader) beginIdle() {
	if b.asks && b.idled == 0 {
		if b.idled = int32(min(b.win.Capacity(), 1<<30)); b.idled > 0 {
			noteIdle(b.alloc, int(b.idled))
		}
	}
}

// endIdle takes beginIdle back.
func (b *BufReader) endIdle() {
	if b.idled > 0 {
		noteIdle(b.alloc, -int(b.idled))
		b.idled = 0
	}
}
