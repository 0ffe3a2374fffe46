package wal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice/sluicetest"
)

// A history runs random operations on a log, over a file system that crashes and fails,
// and compares the log with a model.
type history struct {
	t    *testing.T
	rand *rand.Rand
	fs   *memFS
	log  *Log
	o    Options

	records  map[uint64][]byte // appended, also those of a call that failed
	appended uint64            // number of the last record that may be there
	synced   uint64            // number of the last record that must be there
	counts   map[string]int
}

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{
		t: t, rand: rand.New(rand.NewPCG(seed, 2)), fs: newMemFS(seed),
		records: map[uint64][]byte{}, counts: map[string]int{},
	}
	h.o = Options{SegmentBytes: int64(1 + h.rand.IntN(8<<10)), FS: h.fs}
	return h
}

func (h *history) payload() []byte {
	n := h.rand.IntN(64)
	switch h.rand.IntN(10) {
	case 0:
		n = 1023 + h.rand.IntN(3)
	case 1:
		n = h.rand.IntN(5000)
	}
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(h.rand.Uint32())
	}
	return p
}

// open opens the log until that works, and compares what it recovers with the
// model.
func (h *history) open() {
	for try := 0; ; try++ {
		if try < 3 && h.rand.IntN(4) == 0 {
			h.fs.power = h.rand.IntN(8) // it crashes while it recovers
		}
		log, r, err := Open("log", h.o)
		if err == nil && h.fs.power != 0 {
			h.fs.heal()
			h.log = log
			h.recovered(r)
			return
		}
		if errors.Is(err, ErrCorrupt) {
			h.t.Fatalf("after a crash: %v", err)
		}
		switch {
		case err == nil:
			h.counts["crash behind opening"]++
			h.fs.crash()
		case errors.Is(err, errPowerless):
			h.counts["crash while opening"]++
			h.fs.crash()
		case errors.Is(err, syscall.EIO), errors.Is(err, syscall.ENOSPC):
			h.counts["failure while opening"]++
			h.fs.heal()
		default:
			h.t.Fatal(err)
		}
	}
}

func (h *history) recovered(r Recovery) {
	h.t.Helper()
	if r.Last < h.synced || r.Last > h.appended {
		h.t.Fatalf("recovered %+v, but %d was durable and %d appended", r, h.synced, h.appended)
	}
	if r.Cut > 0 && r.Reason == "" {
		h.t.Errorf("%+v", r)
	}
	if r.Cut > 0 {
		h.counts["cut"]++
	}
	if r.Last > h.synced {
		h.counts["more than durable"]++
	}
	if r.Last < h.appended {
		h.counts["less than appended"]++
	}
	if got := h.log.LastIndex(); got != r.Last {
		h.t.Fatalf("last %d, recovered %+v", got, r)
	}
	if got := h.log.DurableIndex(); got != r.Last {
		h.t.Fatalf("durable %d, recovered %+v", got, r)
	}
	h.appended, h.synced = r.Last, r.Last
	h.check(1)
}

// check reads everything.
func (h *history) check(from uint64) {
	h.t.Helper()
	next := from
	err := h.log.read(from, func(index uint64, p []byte) error {
		if index != next || !bytes.Equal(p, h.records[index]) {
			return fmt.Errorf("record %d: %d bytes, want %d: %d bytes", index, len(p), next, len(h.records[next]))
		}
		next++
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	if last := h.log.LastIndex(); next != last+1 {
		h.t.Fatalf("read up to %d, the last is %d", next-1, last)
	}
}

// failed ends a log that failed: by a crash, or by starting again.
func (h *history) failed(why string, err error) {
	h.t.Helper()
	if !errors.Is(err, ErrFailed) {
		h.t.Fatalf("%s: %v", why, err)
	}
	h.counts[why]++
	h.fs.mu.Lock()
	h.fs.heal()
	h.fs.mu.Unlock()
	// Nothing is acknowledged any more, though the disk would do now.
	want := ErrFailed
	if why == "failure in close" {
		want = ErrClosed
	}
	if _, err := h.log.AppendBatch([][]byte{{1}}); !errors.Is(err, want) {
		h.t.Fatalf("a log that failed appends: %v", err)
	}
	if err := h.log.Sync(); !errors.Is(err, want) {
		h.t.Fatalf("a log that failed syncs: %v", err)
	}
	if err := h.log.Close(); !errors.Is(err, want) {
		h.t.Fatalf("a log that failed closes: %v", err)
	}
	if h.rand.IntN(2) == 0 {
		h.fs.crash()
	}
	h.open()
}

func (h *history) step() {
	if h.rand.IntN(12) == 0 {
		switch h.rand.IntN(4) {
		case 0:
			h.fs.power = h.rand.IntN(6)
		case 1:
			h.fs.room = h.rand.IntN(3000)
		case 2:
			h.fs.syncFails, h.fs.syncAfter = 1, h.rand.IntN(3)
		case 3:
			h.fs.dirFails = 1
		}
	}
	var err error
	what := "append"
	switch n := h.rand.IntN(20); {
	case n < 10:
		batch := make([][]byte, 1+h.rand.IntN(6))
		next := h.log.LastIndex() + 1
		for i := range batch {
			batch[i] = h.payload()
			h.records[next+uint64(i)] = batch[i]
		}
		var first uint64
		first, err = h.log.AppendBatch(batch)
		h.appended = next + uint64(len(batch)) - 1
		if err == nil && first != next {
			h.t.Fatalf("appended as %d, want %d", first, next)
		}
	case n < 15:
		what = "sync"
		last := h.log.LastIndex()
		if err = h.log.Sync(); err == nil {
			h.synced = last
		}
	case n == 15:
		what = "truncate"
		// What was removed may come back with a crash until the call returns.
		last := h.rand.Uint64N(h.log.LastIndex() + 1)
		h.synced = min(h.synced, last)
		if err = h.log.TruncateBack(last); err == nil {
			h.appended = last
			h.check(1)
		}
	case n == 16:
		what = "close"
		if err = h.log.Close(); err == nil {
			h.synced = h.appended
			h.open()
			return
		}
	case n == 17:
		h.counts["crash"]++
		h.fs.crash()
		h.open()
		return
	default:
		what = "read"
		h.check(1 + h.rand.Uint64N(h.log.LastIndex()+1))
	}
	switch {
	case err == nil:
		h.counts[what]++
	case errors.Is(err, errPowerless):
		h.counts["crash in "+what]++
		h.fs.crash()
		h.open()
	default:
		h.failed("failure in "+what, err)
	}
}

func TestHistoriesWithCrashesAndFailures(t *testing.T) {
	seed := sluicetest.Seed(t)
	histories := 200
	if testing.Short() {
		histories = 50
	}
	counts := map[string]int{}
	for n := range histories {
		h := newHistory(t, seed+uint64(n))
		h.open()
		for range 60 {
			h.step()
			if t.Failed() {
				t.Fatalf("in history %d of seed %d", n, seed)
			}
		}
		h.fs.heal()
		h.fs.crash()
		h.open()
		for what, n := range h.counts {
			counts[what] += n
		}
	}
	t.Logf("%v", counts)
	if testing.Short() {
		return // a few histories need not have everything
	}
	for _, what := range []string{
		"append", "sync", "truncate", "cut", "crash", "crash while opening", "crash in append", "crash in sync",
		"failure in append", "failure in sync", "failure while opening", "more than durable", "less than appended",
	} {
		if counts[what] == 0 {
			t.Errorf("no history had this: %s", what)
		}
	}
}
