package sink

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-go/sluice/lab/internal/sink/wal"
	"github.com/sluice-go/sluice/mem"
)

// A Record is the payload of one request, in the memory that it was received in.
type Record = mem.Buf

// A Store keeps records.
type Store interface {
	// Append takes records, at least one. They are transferred, also when it fails: the
	// store releases them. The slice is borrowed until Append returns.
	//
	// done is called exactly once, on any goroutine, before or after Append returns: with the
	// number of the first record, which the others follow without a gap, once they are as
	// durable as the store promises; or with the reason why they will not be. It does
	// not wait for anything. Appends of one goroutine are numbered in their order.
	//
	// Append may wait when too much is under way already. It may be called by many
	// goroutines at once; after Close it is ErrClosed.
	Append(records []Record, done func(first uint64, err error))
	// Failed is closed when the store has failed, for the reason that Err returns: nil while
	// it has not.
	Failed() <-chan struct{}
	Err() error
	// Window says in one line what an acknowledgement promises, and what can be lost.
	Window() string
	// Close finishes what was appended, makes it durable and closes what is below.
	Close() error
}

// ErrFailed: a store will take nothing any more, for the reason that it wraps, and its
// server ends. Other errors of a store are taken to pass: the connection that had one is
// closed, and may come again.
var ErrFailed = errors.New("the store has failed")

// ErrClosed: the store has been closed.
var ErrClosed = errors.New("the store is closed")

// A Log is what Sync needs of a wal.Log. Nothing else may append to it. An error of
// AppendBatch that is wal.ErrTooLong, or has a method Temporary that says true, is about these
// records only; others end the store.
type Log interface {
	AppendBatch(records [][]byte) (first uint64, err error)
	Sync() error
	Close() error
}

// An AsyncLog is what Async needs beyond that.
type AsyncLog interface {
	Log
	LastIndex() uint64
	DurableIndex() uint64
}

// stored is what Async and Sync have in common: a log, transferred, and what gathers for it.
type stored struct {
	log     Log
	queue   *queue
	stop    chan struct{} // closed by Close
	running sync.WaitGroup

	onReceipt bool          // records are answered before they are written, and synced by others
	most      time.Duration // see NewLingering
	mu        sync.Mutex
	groups    Groups
}

func newStored(log Log, limit int64, next uint64) stored {
	return stored{log: log, queue: newQueue(limit, next), stop: make(chan struct{})}
}

func (s *stored) run() {
	var b batch
	for last, linger := 0, time.Duration(0); s.queue.take(&b, last, linger); b.reset() {
		began := time.Now()
		written := s.write(&b)
		var err error
		if written > 0 && !s.onReceipt {
			err = s.sync(written)
		}
		for _, c := range b.calls {
			switch err := cmp.Or(c.err, err); {
			case c.done == nil:
			case err != nil:
				c.done(0, err)
			default:
				c.done(c.first, nil)
			}
		}
		last, linger = written, min(time.Since(began)/8, s.most)
	}
}

// write writes a batch group by group, notes what came of each call, and releases the records. It
// returns how many are written.
func (s *stored) write(b *batch) (written int) {
	var passing error // there is no other for what has come meanwhile
	for from, at := 0, 0; from < len(b.calls); {
		calls, n := b.group(from)
		records := b.records[at : at+n]
		err := cmp.Or(s.queue.err(), passing)
		var first uint64
		if err == nil {
			b.views = b.views[:0]
			for i := range records {
				b.views = append(b.views, records[i].Bytes())
			}
			switch first, err = s.log.AppendBatch(b.views); {
			case err == nil:
				written += n
			case s.onReceipt:
				// Also when the log would take others: their numbers have been given away.
				err = s.fail(err)
			case temporary(err):
				passing = err
			case !errors.Is(err, wal.ErrTooLong): // which is about these records only
				err = s.fail(err)
			}
		}
		for i := range calls {
			calls[i].first, calls[i].err = first, err
			first += uint64(calls[i].n)
		}
		s.queue.release(records)
		from, at = from+len(calls), at+n
	}
	return written
}

func (s *stored) sync(n int) error {
	if err := s.log.Sync(); err != nil {
		return s.fail(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups.Syncs++
	s.groups.Records += uint64(n)
	s.groups.Most = max(s.groups.Most, uint64(n))
	return nil
}

func temporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

func (s *stored) Failed() <-chan struct{} { return s.queue.failing }

func (s *stored) Err() error { return s.queue.err() }

// fail makes err the reason why the store has failed, unless there is one, and returns the
// reason.
func (s *stored) fail(err error) error {
	if !errors.Is(err, ErrFailed) {
		err = fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return s.queue.fail(err)
}

// Close implements Store. When the store had failed it returns why.
func (s *stored) Close() error {
	if !s.queue.close() {
		return nil
	}
	close(s.stop)
	s.running.Wait()
	err := s.log.Close()
	return cmp.Or(s.queue.err(), err) // rather than what follows from it
}

// Groups says how many records shared an fsync.
type Groups struct {
	Syncs   uint64 `json:"syncs"`
	Records uint64 `json:"records"` // that were synced by those
	Most    uint64 `json:"most"`    // records of the largest group
}

// Sync is a Store that acknowledges after fsync. Records that come while one is
// under way are written together and share the next: group commit.
type Sync struct{ stored }

// NewSync returns a store over a log, transferred.
func NewSync(log Log) *Sync { return NewLingering(log, 0) }

// NewLingering returns a store which waits, before it writes, for as many records as it
// had last time, but not longer than an eighth of the time that took, nor than most. Clients that wait
// for answers have just got them, and the first of their next records would go alone: that costs
// much where a write is long, as a round of Raft is.
func NewLingering(log Log, most time.Duration) *Sync {
	s := &Sync{newStored(log, queueBytes, 0)}
	s.most = most
	s.running.Go(s.run)
	return s
}

func (s *Sync) Append(records []Record, done func(first uint64, err error)) {
	if _, err := s.queue.put(records, done); err != nil {
		done(0, err)
	}
}

func (s *Sync) Window() string {
	return "sync: acknowledged after fsync; neither a kill nor a power cut loses what was acknowledged, as far as the disk keeps its word"
}

// Groups returns how many records have shared an fsync so far.
func (s *Sync) Groups() Groups {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.groups
}

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

func (a *Async) Append(records []Record, done func(first uint64, err error)) {
	done(a.queue.put(records, nil))
}

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
