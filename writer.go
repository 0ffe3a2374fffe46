package sluice

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/mem"
)

// BufWriter collects small writes and counted memory, and sends them in one
// system call a Flush.
//
// Small writes are copied into a block, which is taken when the first byte
// comes and given back by Flush: an idle writer holds no memory. Bufs and
// Memories are transferred. Short Bufs are copied too, and released at once;
// longer ones and Memories are gathered in place with the rest, and released
// when they are out. On *net.TCPConn and stream *net.UnixConn a Flush is one
// writev for every 1,024 pieces; for other writers, TLS for one, short pieces
// are joined into Writes of 16 KiB.
//
// Bytes may stay in memory until Flush is called. The writer flushes by itself
// when Options.BufLen bytes wait, or 16 KiB while its allocator's budget is used
// up, and before a write that is too large to copy returns. An error is sticky: every later call returns it, and
// Error.Done says how many bytes of that Flush went out.
//
// When the writer below panics inside its Write, that is an error as well: the
// panic goes on to the caller, what waited is released, and later calls return
// an *Error.
//
// A BufWriter is used by one goroutine at a time; another may close the
// connection under it. A call while another is sending, by another goroutine or
// by the writer below, panics and changes nothing: what is being sent is not
// released under the send. The zero BufWriter is ready for Reset and has the
// default Options.
type BufWriter struct {
	w       io.Writer
	kind    sinkKind
	bound   int // the most bytes that wait
	asked   int // Options.BufLen
	timeout time.Duration
	alloc   *mem.Allocator

	// buf[s:e] was copied and is not among the pieces yet; buf[e:] is free.
	buf       []byte
	s, e      int
	slab      mem.Slab
	busy      atomic.Bool // see enter
	held      int32       // what the budget knows of what waits, see hold
	size      int         // of the next block
	copyBelow int         // a Buf below this length is copied

	waiting pieces // in order, before buf[s:e]
	written int64
	err     error
}

// SetTimeout bounds each Flush from now on, those included that the writer
// makes by itself; 0 ends that. It sets the write deadline of the connection
// below at the beginning of each and leaves it there, and returns
// os.ErrNoDeadline when that has none. Reset ends it.
func (b *BufWriter) SetTimeout(d time.Duration) error {
	if d < 0 {
		panic(fmt.Sprintf("sluice: BufWriter.SetTimeout(%v)", d))
	}
	if b.w == nil {
		return ErrClosed
	}
	c, ok := b.w.(interface{ SetWriteDeadline(time.Time) error })
	if !ok {
		return os.ErrNoDeadline
	}
	if (d > 0) != (b.timeout > 0) { // at its begin, too: a file has the method, and may have no deadlines
		if err := c.SetWriteDeadline(time.Time{}); err != nil {
			return err
		}
	}
	b.timeout = d
	return nil
}

// Buffered returns the number of bytes that wait for Flush.
func (b *BufWriter) Buffered() int { return b.waiting.size + b.e - b.s }

// room returns how many bytes can be written before the writer flushes by
// itself.
func (b *BufWriter) room() int { return max(0, b.most()-b.Buffered()) }

// enter begins what no other call may come into: the writer below has the
// bytes that wait, a reader fills the block, or memory is released. Without room
// for copies every other call gets to where it finds the writer busy.
func (b *BufWriter) enter() {
	if !b.busy.CompareAndSwap(false, true) {
		panicBusy()
	}
	b.buf = b.buf[:b.e]
}

func (b *BufWriter) leave() { b.busy.Store(false) }

//go:noinline
func panicBusy() {
	panic("sluice: BufWriter was used while a call of it was under way, by another goroutine or from inside that call")
}

// failed returns why nothing can be written: the sticky error, or that there
// is no writer below.
func (b *BufWriter) failed() error {
	if b.busy.Load() {
		panicBusy()
	}
	if b.w == nil {
		b.err = ErrClosed
	}
	return b.err
}

func panicWrite(n, offered int) {
	panic(fmt.Sprintf("sluice: a writer took %d bytes of %d", n, offered))
}
