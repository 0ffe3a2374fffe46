package planted

import (
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// sharedCounter counts packets by worker. The fault: each worker has counters
// of its own, as it should, but those of all workers lie on one cache line, which
// goes from processor to processor.
func sharedCounter() lab.Scenario {
	return plant("shared-counter", "four workers that look at packets in memory and count them, each for itself", "packet", 40_000,
		way{"the workers' counters are neighbours in a slice", func(lab.Env) (lab.Runner, error) {
			all := make([]tally, tallyWorkers)
			return newTallies(func(i int) *tally { return &all[i] }), nil
		}},
		way{"the workers' counters are 128 bytes apart", func(lab.Env) (lab.Runner, error) {
			all := make([]paddedTally, tallyWorkers)
			return newTallies(func(i int) *tally { return &all[i].tally }), nil
		}},
	)
}

const tallyWorkers = 4

// A tally counts what one worker has seen; others may read it at any time.
type tally struct {
	packets atomic.Uint64
	bytes   atomic.Uint64
}

// A paddedTally has two lines for itself: some processors fetch pairs.
type paddedTally struct {
	tally
	_ [128 - 16]byte
}

// A header is what a worker looks at.
type header struct {
	kind, flags uint8
	length      uint16
}

// tallies are workers with their counters and what they work on.
type tallies struct {
	counters [tallyWorkers]*tally
	headers  []header
}

func newTallies(counter func(worker int) *tally) lab.Runner {
	t := &tallies{headers: make([]header, 4096)}
	for i := range t.headers {
		t.headers[i] = header{kind: uint8(i % 3), flags: uint8(i >> 4), length: uint16(40 + (i+1)*37%1400)}
	}
	for i := range t.counters {
		t.counters[i] = counter(i)
	}
	return t
}

// work handles n packets and counts those that have a payload.
func (t *tallies) work(worker, n int) {
	own := t.counters[worker]
	for i := range n {
		h := t.headers[i%len(t.headers)]
		if h.length <= 40 {
			continue
		}
		own.packets.Add(1)
		own.bytes.Add(uint64(h.length))
	}
}

func (t *tallies) Run(ops int) (lab.Sample, error) {
	packets, bytes := t.total()
	var workers sync.WaitGroup
	part := ops / tallyWorkers
	for i := range tallyWorkers {
		n := part
		if i == 0 {
			n = ops - part*(tallyWorkers-1)
		}
		workers.Go(func() { t.work(i, n) })
	}
	workers.Wait()
	p, b := t.total()
	return lab.Sample{Bytes: int64(b - bytes), Check: (p-packets)<<32 + b - bytes + 1}, nil
}

func (t *tallies) total() (packets, bytes uint64) {
	for _, c := range t.counters {
		packets += c.packets.Load()
		bytes += c.bytes.Load()
	}
	return packets, bytes
}

func (*tallies) Close() error { return nil }
