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
	a := &Async{newStored(log, o.Queue, log.LastIndex()+1), log, o}
	a.onReceipt = true
	a.running.Go(a.run)
	a.running.Go(a.syncInTime)
	return a
}

// Append implements Store.
func (a *Async) Append(records []Record, done func(first uint64, err error)) {
	done(a.queue.put(records, nil))
}

// syncInTime syncs now and then.
func (a *Async) syncInTime() {
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
