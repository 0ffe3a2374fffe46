package sink

import (
	"slices"
	"sync"
	"time"
)

const (
	// queueBytes is how much payload may be held before appends wait.
	queueBytes = 64 << 20
	// groupRecords is how many records are written together at most, as far as appends
	// are not longer.
	groupRecords = 8 << 10
)

type call struct {
	n     int                           // records
	done  func(first uint64, err error) // nil: it has been answered
	first uint64                        // number of its first record, when it was written
	err   error                         // why it was not
}

// A batch is what has gathered: the records of calls, retained, in their order.
type batch struct {
	records []Record
	calls   []call
	views   [][]byte // scratch: the bytes of records
}

func (b *batch) reset() {
	clear(b.calls)
	clear(b.views)
	if b.records, b.calls = b.records[:0], b.calls[:0]; cap(b.records) > 4*groupRecords {
		*b = batch{} // a long queue is rare
	}
}

func (b *batch) group(from int) (calls []call, records int) {
	to := from
	for ; to < len(b.calls) && (to == from || records+b.calls[to].n <= groupRecords); to++ {
		records += b.calls[to].n
	}
	return b.calls[from:to], records
}

// Payload is how many bytes records have.
func Payload(records []Record) (bytes int64) {
	for i := range records {
		bytes += int64(records[i].Len())
	}
	return bytes
}

// Release releases records.
func Release(records []Record) {
	for i := range records {
		records[i].Release()
	}
	clear(records)
}

type queue struct {
	limit int64 // bytes

	mu      sync.Mutex
	work    sync.Cond // there is something to take, or will never be
	room    sync.Cond // there is room to put something
	waiting batch
	held    int64  // payload of records here, and of those taken and not released
	next    uint64 // number of the record that comes next, where they are numbered here
	failed  error
	closed  bool
	failing chan struct{} // closed with the first failure
}

func newQueue(limit int64, next uint64) *queue {
	q := &queue{limit: limit, next: next, failing: make(chan struct{})}
	q.work.L, q.room.L = &q.mu, &q.mu
	return q
}

// put takes records, transferred, and waits while too much is held: more than limit only
// for an append that is longer than that by itself. done is nil where no caller waits for the
// end. It returns the number of the first record.
func (q *queue) put(records []Record, done func(uint64, error)) (first uint64, err error) {
	if len(records) == 0 {
		panic("sink: Append of no records")
	}
	bytes := Payload(records)
	q.mu.Lock()
	for q.failed == nil && !q.closed && q.held > 0 && q.held+bytes > q.limit {
		q.room.Wait()
	}
	if q.closed || q.failed != nil {
		err := q.failed
		if q.closed {
			err = ErrClosed
		}
		q.mu.Unlock()
		Release(slices.Clone(records))
		return 0, err
	}
	q.waiting.records = append(q.waiting.records, records...)
	q.waiting.calls = append(q.waiting.calls, call{n: len(records), done: done})
	q.held += bytes
	first = q.next
	q.next += uint64(len(records))
	q.mu.Unlock()
	q.work.Signal()
	return first, nil
}

// take exchanges b, which is empty, for what has gathered, and waits until there is something:
// it returns false when the queue is closed and empty. It waits for n records, but not longer
// than most.
func (q *queue) take(b *batch, n int, most time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting.calls) == 0 && !q.closed {
		q.work.Wait()
	}
	if most > 0 && len(q.waiting.records) < n {
		over := false
		timer := time.AfterFunc(most, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			over = true
			q.work.Signal()
		})
		defer timer.Stop()
		for !over && !q.closed && len(q.waiting.records) < n {
			q.work.Wait()
		}
	}
	*b, q.waiting = q.waiting, *b
	return len(b.calls) > 0
}

func (q *queue) release(records []Record) {
	bytes := Payload(records)
	Release(records)
	q.mu.Lock()
	q.held -= bytes
	q.mu.Unlock()
	q.room.Broadcast()
}

func (q *queue) fail(err error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failed == nil {
		q.failed = err
		close(q.failing)
		q.room.Broadcast()
	}
	return q.failed
}

func (q *queue) err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failed
}

func (q *queue) last() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.next - 1
}

// close lets take end once the queue is empty, and reports whether it was open.
func (q *queue) close() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	was := !q.closed
	q.closed = true
	q.work.Broadcast()
	q.room.Broadcast()
	return was
}
