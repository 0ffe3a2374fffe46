package aio_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// eventTimeout is the timeout of every wait for an event that must happen. It is
// never the time that the event takes.
const eventTimeout = time.Minute

// A fixture is a watcher under test, with what has been submitted to it. It
// checks what holds for every completion and, when the test ends, that nothing
// is missing and that the figures add up.
type fixture struct {
	testing.TB
	driver  aio.Driver
	can     capability
	network string
	cut     string
	rand    *rand.Rand
	alloc   *mem.Allocator // of the test: nothing may be left of it
	w       *aio.Watcher
	loop    *waitLoop

	listener net.Listener

	mu        sync.Mutex
	queues    map[queueKey][]*op // what is pending, in the order of submission
	completed []*op              // in that order
	pending   int
	sums      sums
	rounds    int
	closed    bool // WaitIO has returned ErrWatcherClosed
}

type queueKey struct {
	conn net.Conn
	what aio.OpType
}

// sums are Stats as they must be, from the completions.
type sums struct {
	reads, writes, bytesRead, bytesWritten uint64
}

func newFixture(t *testing.T, d aio.Driver, can capability, network, cut string, change func(*aio.Options)) *fixture {
	seed := sluicetest.Seed(t)
	f := &fixture{
		TB: t, driver: d, can: can, network: network, cut: cut,
		rand:   rand.New(rand.NewPCG(seed, 1)),
		queues: map[queueKey][]*op{},
	}
	// Released memory is overwritten: a read after Release sees garbage.
	o := aio.Options{Driver: d, Allocator: mem.New(mem.Options{Name: "conformance", Leak: mem.LeakParanoid})}
	if change != nil {
		change(&o)
	}
	f.alloc = o.Allocator
	sluicetest.NoLeaks(t, f.alloc)
	w, err := aio.NewWatcherOptions(o)
	if err != nil {
		t.Fatal(err)
	}
	f.w = w
	f.loop = newWaitLoop(w)
	t.Cleanup(f.finish)
	return f
}

// finish closes the watcher and checks what must hold then, unless the test has
// failed already: that would only hide why.
func (f *fixture) finish() {
	defer f.loop.end()
	if err := f.w.Close(); err != nil {
		f.Errorf("Close: %v", err)
	}
	if f.Failed() {
		return
	}
	if !f.closed {
		if _, err := f.next(); !errors.Is(err, aio.ErrWatcherClosed) {
			f.Fatalf("the first WaitIO after Close: %v, want ErrWatcherClosed", err)
		}
	}
	if r, err := f.next(); len(r) != 0 || !errors.Is(err, aio.ErrWatcherClosed) {
		f.Fatalf("the second WaitIO after Close: %d results, %v, want none and ErrWatcherClosed", len(r), err)
	}
	if f.pending != 0 {
		f.Errorf("%d operations have never completed", f.pending)
	}
	f.checkStats()
	// Goroutines of Std may be on their way out with a reference.
	f.eventually("all memory is given back", func() bool { return len(f.alloc.Leaks()) == 0 })
}

func (f *fixture) checkStats() {
	f.Helper()
	s := f.w.Stats()
	if s.Conns != 0 || s.Pending != 0 || s.QueuedBytes != 0 || s.QueuedHeld != 0 {
		f.Errorf("after Close: Conns %d, Pending %d, QueuedBytes %d, QueuedHeld %d, want none", s.Conns, s.Pending, s.QueuedBytes, s.QueuedHeld)
	}
	if s.Freed != s.Delegated {
		f.Errorf("after Close: %d connections taken over, %d closed", s.Delegated, s.Freed)
	}
	if got := (sums{s.Reads, s.Writes, s.BytesRead, s.BytesWritten}); got != f.sums {
		f.Errorf("Stats count %+v, the completions were %+v", got, f.sums)
	}
}

// next is one WaitIO. It fails the test when that does not return.
func (f *fixture) next() ([]aio.OpResult, error) {
	f.Helper()
	f.loop.start()
	return f.join()
}

// join waits for the WaitIO that is under way.
func (f *fixture) join() ([]aio.OpResult, error) {
	f.Helper()
	results, err, ok := f.loop.result(eventTimeout)
	if !ok {
		f.Fatalf("WaitIO has not returned for %v; %d operations pending, %+v\n%s", eventTimeout, f.pending, f.w.Stats(), stacks())
	}
	f.settle(results, err)
	return results, err
}

// settle enters completions into the books.
func (f *fixture) settle(results []aio.OpResult, err error) {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rounds++
	if err != nil {
		if !errors.Is(err, aio.ErrWatcherClosed) {
			f.Errorf("WaitIO: %v", err)
		}
		if f.closed && len(results) > 0 {
			f.Errorf("WaitIO returned %d results after it had said ErrWatcherClosed", len(results))
		}
		f.closed = true
	} else if len(results) == 0 {
		f.Errorf("WaitIO returned neither results nor an error")
	}
	for i := range results {
		r := &results[i]
		if r.Operation == aio.OpRead {
			f.sums.reads++
			f.sums.bytesRead += uint64(r.Size)
		} else {
			f.sums.writes++
			f.sums.bytesWritten += uint64(r.Size)
		}
		if o, ok := r.Context.(*op); ok {
			f.complete(o, r)
		}
	}
}

// wait calls WaitIO until the operations have completed.
func (f *fixture) wait(ops ...*op) {
	f.Helper()
	for _, o := range ops {
		for !o.done {
			if f.closed {
				f.Fatalf("the watcher is closed, and %v has not completed", o)
			}
			if _, err := f.next(); err != nil && !o.done {
				f.Fatalf("%v pending: %v", o, err)
			}
		}
	}
}

// eventually waits for what happens by itself, without WaitIO: a goroutine that
// ends, an event that the kernel delivers.
func (f *fixture) eventually(what string, ok func() bool) {
	f.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.Now().Add(eventTimeout)
	for tries := 0; !ok(); tries++ {
		if time.Now().After(end) {
			f.Fatalf("not after %v: %s\n%s", eventTimeout, what, stacks())
		}
		if tries < 20 {
			runtime.Gosched()
		} else {
			<-tick.C
		}
	}
}

// promptly runs what must not block.
func (f *fixture) promptly(what string, do func()) {
	f.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(eventTimeout):
		f.Fatalf("not after %v: %s\n%s", eventTimeout, what, stacks())
	}
}

// bytes returns n bytes that are like no others, as far as n lets them.
func (f *fixture) bytes(n int) []byte {
	noise := noise()
	if n > len(noise)/2 {
		f.Fatalf("%d bytes of noise are too many", n)
	}
	at := f.rand.IntN(len(noise) - n)
	return slices.Clone(noise[at:][:n])
}

// noise is made once: under the race detector it takes long.
var noise = sync.OnceValue(func() []byte {
	b := make([]byte, 8<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b)
	return b
})

// enough is how many bytes show what the cut does, in little time: a call for
// each of them when they come one by one.
func (f *fixture) enough() int {
	switch {
	case f.cut == "one byte":
		return 3000
	case f.cut == "whole" || f.cut == "halves":
		return 300_000
	case f.network == "pipe" || f.network == "tls":
		return 10_000
	default:
		return 30_000
	}
}

func stacks() string {
	b := make([]byte, 1<<20)
	return fmt.Sprintf("goroutines:\n%s", b[:runtime.Stack(b, true)])
}
