package aio

import (
	"context"
	"net"
	"runtime"
	"sync/atomic"

	"github.com/sluice-go/sluice/mem"
)

// Watcher carries out operations on connections and reports their completion.
// Make one with NewWatcher.
type Watcher struct {
	driver driver
	kind   Driver
	reason string
	inWait atomic.Bool // a goroutine is in WaitIO
	quiet  bool        // Options.QuietWrites
	memory *mem.Allocator
	// mostRead is Options.BufferSize.
	mostRead int
	loops    []connLoop // of ConnHandlers; for the goroutine in WaitIO
}

// connLoop is the connections that a watcher has of one ConnHandler.
type connLoop interface {
	notifyEnd()  // what peers have to know before their connections end
	endAborted() // connections whose callback has ended its goroutine
	end()        // after the last result
}

// NewWatcher returns a watcher that behaves like gaio's: with the default options
// and Options.ErrorsComplete.
func NewWatcher() (*Watcher, error) { return NewWatcherSize(0) }

// NewWatcherSize is NewWatcher for a watcher whose reads without a buffer return at
// most bufsize bytes each; see Options.BufferSize. It panics when bufsize is negative.
func NewWatcherSize(bufsize int) (*Watcher, error) {
	return NewWatcherOptions(Options{BufferSize: bufsize, ErrorsComplete: true})
}

// NewWatcherOptions returns a watcher. The error says why the kernel refused
// one, or that this system does not have the driver asked for (ErrUnsupported).
// Close it when done; one that is forgotten is closed after it was collected. It
// panics when a size in o is negative, and when its QueuePolicy is none.
func NewWatcherOptions(o Options) (*Watcher, error) {
	o = o.withDefaults()
	d, kind, reason, err := newDriver(o)
	if err != nil {
		return nil, err
	}
	w := &Watcher{driver: d, kind: kind, reason: reason, memory: o.Allocator, mostRead: o.BufferSize, quiet: o.QuietWrites}
	runtime.AddCleanup(w, func(abandon func()) { abandon() }, d.Abandon())
	return w, nil
}

// Driver returns what carries out this watcher's operations, and why it was
// chosen, in words for a log.
func (w *Watcher) Driver() (kind Driver, reason string) { return w.kind, w.reason }

// WaitIO waits until operations have completed and returns them. The results,
// and the buffers among them that are the watcher's own, are borrowed until the
// next WaitIO.
//
// After Close it returns ErrWatcherClosed, once together with the results of
// what was still pending. An error that wraps ErrPollerClosed means that the
// watcher cannot go on.
//
// It is for one goroutine at a time, since it ends the lease of the previous results: a
// call while another one is under way panics. Another goroutine may call it when the
// first call has returned and its results are no longer used.
func (w *Watcher) WaitIO() ([]OpResult, error) {
	if !w.inWait.CompareAndSwap(false, true) {
		panic("aio: WaitIO is called by two goroutines at once, and each call takes back the results before")
	}
	defer w.inWait.Store(false)
	results, err := w.driver.Wait()
	// The caller may be all that still refers to w.
	runtime.KeepAlive(w)
	return results, err
}

// Free closes a connection and forgets it. What is pending on it completes with
// io.ErrClosedPipe. Freeing one that was freed before does nothing; one that was
// never submitted to this watcher is closed. A nil conn is ErrUnsupported.
//
// When that cuts queued writes off, the peer sees a reset over TCP, here and wherever a
// watcher closes a connection: the end of the stream would say that it has everything.
// It may not get all that was counted as written then.
func (w *Watcher) Free(conn net.Conn) error { return w.driver.CloseConn(conn) }

// Close closes the watcher and all its connections. What is pending completes
// with ErrWatcherClosed; the next WaitIO returns it. Memory that the last WaitIO
// has lent stays with the program until then. Closing again does nothing.
func (w *Watcher) Close() error {
	w.driver.Close()
	return nil
}

// Shutdown closes the watcher after it has drained: from now on submissions
// are refused with ErrWatcherClosed and pending reads complete with it, while
// writes that are queued go on. When the last one is out, or ctx is done, the
// watcher is closed. The error is nil in the first case, and ctx's cause in the
// second. It is ErrWatcherClosed when Close came first and cut a write short.
//
// A goroutine has to be in WaitIO meanwhile, since WaitIO does the writing; go on
// calling it until it returns ErrWatcherClosed. Do not Free a connection because
// its read ended with ErrWatcherClosed: that would throw away what is queued. It
// panics for a nil ctx.
func (w *Watcher) Shutdown(ctx context.Context) error {
	if ctx == nil { // or a goroutine that the caller cannot recover would find it
		panic("aio: Watcher.Shutdown: nil context")
	}
	err := w.driver.Shutdown(ctx)
	runtime.KeepAlive(w)
	return err
}

// SetPollerAffinity makes the goroutine that calls WaitIO run on one processor,
// from its next call on: WaitIO locks it to its thread, and the thread to the
// processor, until the watcher is closed. gaio has two goroutines to pin; here
// it is one, so this is the same as SetLoopAffinity, and the later call counts.
//
// It never helped where it was measured, and costs much at moderate load: a locked
// thread is woken by the kernel each time that WaitIO has slept, and cannot go where
// there is room. On two processors, echoes of 128 B took 1.4 to 3 times the processor
// time with one connection, and 0.9 to 1.2 times with 1,000 busy ones, which is
// what the runs differed by. It is for a loop that hardly ever sleeps, on a processor
// that was set aside for it.
//
// A processor that this process may not use is ErrCPUID, and a watcher that was
// closed ErrConnClosed, as with gaio. Systems other than Linux, and the Std driver,
// have no such setting: ErrUnsupported.
func (w *Watcher) SetPollerAffinity(cpuid int) error { return w.driver.Pin(cpuid) }

// SetLoopAffinity is the same as SetPollerAffinity.
func (w *Watcher) SetLoopAffinity(cpuid int) error { return w.driver.Pin(cpuid) }

// GetGC says how many connections that the program had forgotten were found by
// the collector, and how many of those have been closed.
func (w *Watcher) GetGC() (found, closed uint32) {
	s := w.driver.Counters()
	return s.Found, s.Collected
}

// Stats returns the watcher's counters.
func (w *Watcher) Stats() Stats { return Stats(w.driver.Counters()) }
