package aio

import (
	"fmt"
	"net"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

// SlowPolicy says what WriteMany does with a connection that has not yet taken
// what was written to it before. On the Std driver, whose goroutines make the writes, that
// is so for a moment after each: of two calls in a row the second finds every peer slow.
type SlowPolicy int

const (
	// SlowQueue queues the bytes behind the others, within Options.QueueLimit;
	// beyond it Options.QueuePolicy says whether the connection misses them or is
	// closed.
	SlowQueue SlowPolicy = iota
	// SlowSkip skips the connection: it misses all of these bytes, or none.
	SlowSkip
	// SlowClose frees the connection. What is pending on it completes with
	// ErrQueueFull.
	SlowClose
)

// check panics when s is none of the policies.
func (s SlowPolicy) check() {
	if s < SlowQueue || s > SlowClose {
		panic(fmt.Sprintf("aio: WriteMany with SlowPolicy %d: it is SlowQueue, SlowSkip or SlowClose", int(s)))
	}
}

// Spread counts the connections of a WriteMany by outcome. The sum is the number of
// connections given, unless the watcher was closed meanwhile.
type Spread struct {
	Written int // all bytes are in the kernel
	Queued  int // some wait in the queue, and go out while a goroutine is in WaitIO
	Skipped int // slow: missed them
	Closed  int // slow: freed
	Failed  int // a completion says why
}

// WriteMany writes b, transferred, to each of conns. The bytes are not copied for
// each: what has to wait for several connections waits as references to the same
// memory, which is copied once if it is a small part of a large block. slow says
// what happens to slow connections.
//
// Only failures complete: an OpWrite with ctx, the connection and the error. A
// connection that takes the bytes has no completion. The error of WriteMany itself
// is ErrWatcherClosed, or ErrEmptyBuffer for an empty Buf. It panics when slow is none of the
// policies.
func (w *Watcher) WriteMany(ctx any, conns []net.Conn, b mem.Buf, slow SlowPolicy) (Spread, error) {
	slow.check()
	if isEmpty(b) {
		return Spread{}, ErrEmptyBuffer
	}
	defer b.Release()
	spread, err := w.driver.WriteMany(ctx, conns, &b, op.Slow(slow))
	return Spread(spread), err
}
