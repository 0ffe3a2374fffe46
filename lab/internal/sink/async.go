package sink

import (
	"cmp"
	"fmt"
	"time"
)

// AsyncOptions are the settings of an Async. The zero value of a field is its default.
type AsyncOptions struct {
	SyncEvery time.Duration // how often the log is synced; default 1 s
	Queue     int64         // payload bytes that are not written yet before Append waits; default 64 MiB
}

// Async is a Store that acknowledges on receipt, and writes and syncs afterwards.
type Async struct {
	stored
	log     AsyncLog
	options AsyncOptions
}

// NewAsync returns a store over a log, transferred.
func NewAsync(log AsyncLog, o AsyncOptions) *Async {
	o.SyncEvery, o.Queue = cmp.Or(o.SyncEvery, time.Second), cmp.Or(o.Queue, queueBytes)
	a := &Async{stored{log: log, queue: newQueue(o.Queue, log.LastIndex()+1), stop: make(chan struct{})}, log, o}
	a.running.Go(a.write)
	a.running.Go(a.sync)
	return a
}

// Append implements Store.
func (a *Async) Append(records []Record, done func(first uint64, err error)) {
	done(a.queue.put(records, nil))
}

// write writes what has gathered.
func (a *Async) write() {
	var groups []*group
	for groups = a.queue.take(groups[:0], 0, 0); len(groups) > 0; groups = a.queue.take(groups[:0], 0, 0) {
		for _, g := range groups {
			err := a.queue.err()
			if err == nil {
				_, err = a.log.AppendBatch(g.payloads())
			}
			if err != nil {
				// Also when the log would take others: their numbers have been given away.
				a.fail(err)
			}
			a.queue.release(g)
		}
		a.queue.recycle(groups)
	}
}

// sync syncs now and then.
func (a *Async) sync() {
	tick := time.NewTicker(a.options.SyncEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-a.stop:
			return
		}
		if err := a.log.Sync(); err != nil {
			a.fail(err)
			return
		}
	}
}

// Window implements Store.
func (a *Async) Window() string {
	return fmt.Sprintf("async: acknowledged on receipt; a kill loses what is not written yet (at most %d MiB), a power cut also what was written since the last fsync (every %v)",
		(a.options.Queue+1<<20-1)>>20, a.options.SyncEvery)
}

// AtRisk returns how many of the records that were acknowledged a kill of the process would lose
// now, and how many a power cut.
func (a *Async) AtRisk() (unwritten, unsynced uint64) {
	// In this order, so that none is negative.
	durable, written := a.log.DurableIndex(), a.log.LastIndex()
	last := a.queue.last()
	return last - min(written, last), last - min(durable, last)
}
