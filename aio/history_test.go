package aio_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// A history is a random run of operations on the connections of one watcher,
// from several goroutines, beside a model of what each of them must deliver.
type history struct {
	t       testing.TB
	driver  aio.Driver
	options aio.Options
	budget  int64
	workers int
	calm    bool // one worker, and nothing that depends on time
	watcher *aio.Watcher
	source  *mem.Allocator // of what is written

	makers  []*pairMaker
	opening sync.Mutex // guards makers and links
	links   []*link
	slots   []atomic.Pointer[link]

	mu       sync.Mutex
	progress sync.Cond
	stops    []context.CancelCauseFunc
	faults   int

	accepted  atomic.Int64
	ending    atomic.Bool // no more submissions but those that drain
	closing   atomic.Bool
	collected chan struct{}
	collect   *collector
}

const (
	mostLinks  = 300
	mostFaults = 8
)

// flavour draws the options of a watcher.
func (h *history) flavour(d dice) {
	levels := []mem.Level{mem.LeakTrace, mem.LeakParanoid, mem.LeakParanoid}
	level := levels[d.pick(len(levels))]
	h.options.BufferSize = []int{0, 0, 700, 4096}[d.pick(4)]
	limit, policy, budget := d.pick(4), d.pick(2), d.pick(4)
	if !h.calm {
		if limit == 0 {
			h.options.QueueLimit = 20_000 + d.pick(100_000)
			h.options.QueuePolicy = aio.QueuePolicy(policy)
		}
		if budget == 0 {
			h.budget = 256 << 10
		}
	}
	h.options.Allocator = mem.New(mem.Options{Name: "watcher", Leak: level, Budget: h.budget})
	h.source = mem.New(mem.Options{Name: "source", Leak: level})
	h.t.Logf("%v: BufferSize %d, QueueLimit %d (policy %d), budget %d, leak level %v, %d workers",
		h.driver, h.options.BufferSize, h.options.QueueLimit, h.options.QueuePolicy, h.budget, level, h.workers)
}

// newHistory starts a watcher with slots connections, and its collector.
func newHistory(t testing.TB, makers []*pairMaker, driver aio.Driver, d dice, workers, slots int, calm bool) *history {
	h := &history{t: t, makers: makers, driver: driver, workers: workers, calm: calm,
		slots: make([]atomic.Pointer[link], slots), collected: make(chan struct{})}
	h.progress.L = &h.mu
	h.options.Driver = driver
	h.flavour(d)
	sluicetest.NoLeaks(t, h.options.Allocator)
	sluicetest.NoLeaks(t, h.source)
	var err error
	if h.watcher, err = aio.NewWatcherOptions(h.options); err != nil {
		t.Fatal(err)
	}
	for i := range h.slots {
		l := h.open()
		if l == nil {
			t.FailNow()
		}
		h.slots[i].Store(l)
	}
	h.collect = &collector{h: h, worker: &worker{h: h, id: workers, dice: d}}
	return h
}

func (h *history) bufferSize() int {
	if h.options.BufferSize == 0 {
		return aio.DefaultBufferSize
	}
	return h.options.BufferSize
}

// closesFull says that a write too much closes its connection.
func (h *history) closesFull() bool {
	return h.options.QueueLimit > 0 && h.options.QueuePolicy == aio.QueueClose
}

func (h *history) errorf(format string, args ...any) {
	h.mu.Lock()
	h.faults++
	n := h.faults
	h.mu.Unlock()
	if n <= mostFaults {
		h.t.Errorf("%v: %s", h.driver, fmt.Sprintf(format, args...))
	}
}

// wake wakes the goroutines that wait for completions.
func (h *history) wake() {
	h.mu.Lock()
	h.progress.Broadcast()
	h.mu.Unlock()
}

// open makes a new connection; nil when there are enough.
func (h *history) open() *link {
	h.opening.Lock()
	defer h.opening.Unlock()
	id := len(h.links)
	if id >= mostLinks {
		return nil
	}
	server, client, err := h.makers[id%len(h.makers)].pair()
	if err != nil {
		h.errorf("connecting: %v", err)
		return nil
	}
	// A third of them with little room in the kernel, for writes in pieces.
	if id%3 == 0 {
		_ = server.(interface{ SetWriteBuffer(int) error }).SetWriteBuffer(4 << 10)
	}
	l := h.newLink(id, server, client)
	h.links = append(h.links, l)
	return l
}

func (h *history) all() []*link {
	h.opening.Lock()
	defer h.opening.Unlock()
	return slices.Clone(h.links)
}

func (h *history) free(l *link) {
	l.freeing.Store(true)
	if err := h.watcher.Free(l.server); err != nil {
		h.errorf("Free of link %d: %v", l.id, err)
	}
	l.freed.Store(true)
}

func (h *history) cancelOne(i int) {
	h.mu.Lock()
	var stop context.CancelCauseFunc
	if n := len(h.stops); n > 0 {
		stop = h.stops[i%n]
		h.stops = slices.Delete(h.stops, i%n, i%n+1)
	}
	h.mu.Unlock()
	if stop != nil {
		stop(errCancelled)
	}
}

// play runs the workers, one for each of the dice, and then ends all: some
// connections are drained, some freed, some left for Close.
func (h *history) play(all []dice, steps int) {
	stuck := time.AfterFunc(longEnough, func() {
		for _, l := range h.all() {
			if n := l.tally.Load(); n > 0 {
				h.errorf("link %d: %d operations pending after %v, %d of %d bytes received", l.id, n, longEnough, l.received, l.sent.Load())
			}
		}
		h.errorf("the history has come to a halt")
		h.closing.Store(true)
		_ = h.watcher.Close()
	})
	defer stuck.Stop()
	go h.collect.run()
	var working sync.WaitGroup
	for i, d := range all {
		working.Go(func() { (&worker{h: h, id: i, dice: d}).run(steps) })
	}
	working.Wait()
	h.ending.Store(true)
	last := &worker{h: h, id: h.workers + 1}
	links := h.all()
	for i, l := range links {
		close(l.gate)
		switch {
		case i/2%4 == 1 && !h.calm:
			h.free(l)
		case i/2%4 == 2 && !h.calm:
		default:
			l.startDrain(last)
		}
	}
	h.settle(links)
	for _, l := range links {
		if l.draining.Load() {
			h.free(l)
		}
	}
	h.closing.Store(true)
	_ = h.watcher.Close()
	<-h.collected
	for _, l := range links {
		close(l.orders)
		_ = l.server.Close() // for one that the watcher never saw
		l.peers.Wait()
		l.verify()
		l.breakOff(true) // so that no port has to wait
	}
	h.audit(links)
}

// settle waits until nothing is pending on connections that are drained or freed.
func (h *history) settle(links []*link) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range links {
		for !l.settled() && !h.closing.Load() {
			h.progress.Wait()
		}
	}
}

// settled reports that no more data will come. A link that is left for Close counts
// as settled.
func (l *link) settled() bool {
	switch {
	case l.draining.Load():
		return l.drained.Load() && l.tally.Load() == 0
	case l.freed.Load():
		return l.tally.Load() == 0
	}
	return true
}

// audit holds the watcher's own figures against those of the history.
func (h *history) audit(links []*link) {
	c, s := h.collect, h.watcher.Stats()
	if s.Conns != 0 || s.Pending != 0 || s.QueuedBytes != 0 {
		h.errorf("after Close: %d connections, %d operations, %d bytes queued", s.Conns, s.Pending, s.QueuedBytes)
	}
	if s.Reads != c.reads || s.Writes != c.writes || int64(s.Reads+s.Writes) != h.accepted.Load() {
		h.errorf("Stats count %d reads and %d writes; %d and %d completed, %d were accepted", s.Reads, s.Writes, c.reads, c.writes, h.accepted.Load())
	}
	if s.BytesRead != c.in || s.BytesWritten != c.out {
		h.errorf("Stats count %d bytes read and %d written, it were %d and %d", s.BytesRead, s.BytesWritten, c.in, c.out)
	}
	if h.driver != aio.Std && s.Delegated != s.Freed {
		h.errorf("%d connections were taken over, %d freed", s.Delegated, s.Freed)
	}
	for _, a := range []*mem.Allocator{h.options.Allocator, h.source} {
		if st := a.Stats(); st.CheckedOut != 0 {
			h.errorf("allocator %s: %d blocks are out at the end", st.Name, st.CheckedOut)
		}
		a.Trim() // looks for writes to what was released
	}
	h.t.Logf("%v: %d links, %d reads of %d bytes and %d writes of %d in %d batches", h.driver, len(links), c.reads, c.in, c.writes, c.out, c.batches)
}

// weigh scales a number of steps to what the build can do in the same time.
func weigh(steps int) int {
	if sys.Race {
		steps /= 4
	}
	if testing.Short() {
		steps /= 2
	}
	return steps
}

func TestRandomHistoriesFromSeveralGoroutines(t *testing.T) {
	seed := sluicetest.Seed(t)
	onEachDriver(t, func(t *testing.T, driver aio.Driver) {
		for round := range uint64(6) {
			t.Run(fmt.Sprint(round), func(t *testing.T) {
				const workers = 4
				d := make([]dice, workers)
				for i := range d {
					d[i] = chance{rand.New(rand.NewPCG(seed, round<<8|uint64(i)))}
				}
				h := newHistory(t, allMakers(t), driver, chance{rand.New(rand.NewPCG(seed, round<<8|0xFF))}, workers, 12, false)
				h.play(d, weigh(3000))
			})
		}
	})
}

func TestOneHistoryIsTheSameOnEveryDriver(t *testing.T) {
	seed := sluicetest.Seed(t)
	var first *history
	onEachDriver(t, func(t *testing.T, driver aio.Driver) {
		h := newHistory(t, allMakers(t), driver, chance{rand.New(rand.NewPCG(seed, 100))}, 1, 6, true)
		h.play([]dice{chance{rand.New(rand.NewPCG(seed, 101))}}, weigh(2000))
		if first == nil {
			first = h
			return
		}
		first.compare(t, h)
	})
}
