package sink

import (
	"sync"
	"time"
)

const (
	// queueBytes is how much payload may be held before appends wait.
	queueBytes = 64 << 20
	// groupRecords is how many records are written together at most, as far as appends
	// are not longer; a group of that size is used again.
	groupRecords = 8 << 10
	// spareGroups are kept to be used again.
	spareGroups = 4
)

// A call is one Append.
type call struct {
	n    int // records
	done func(first uint64, err error)
}

// A group is what is written together.
type group struct {
	records []Record // retained
	calls   []call   // those of appends that wait for an answer
	bytes   int64
	views   [][]byte // scratch: the bytes of records
	first   uint64   // number of the first record, of a group that was written
	err     error    // why it was not
}

// payloads returns the bytes of the records, borrowed until they are released.
func (g *group) payloads() [][]byte {
	g.views = g.views[:0]
	for i := range g.records {
		g.views = append(g.views, g.records[i].Bytes())
	}
	return g.views
}

// answer calls what waits for the group.
func (g *group) answer(err error) {
	first := g.first
	for i := range g.calls {
		c := &g.calls[i]
		if err != nil {
			c.done(0, err)
		} else {
			c.done(first, nil)
			first += uint64(c.n)
		}
		*c = call{}
	}
	g.calls = g.calls[:0]
}

func release(records []Record) {
	for i := range records {
		records[i].Release()
	}
	clear(records)
}

// A queue gathers what is appended while what came before it is written.
type queue struct {
	limit int64 // bytes

	mu      sync.Mutex
	work    sync.Cond // there is something to take, or will never be
	room    sync.Cond // there is room to put something
	groups  []*group  // oldest first, none of them empty
	spare   []*group
	held    int64  // payload of groups here, and of those taken and not released
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
	var bytes int64
	for i := range records {
		bytes += int64(records[i].Len())
	}
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
		release(append([]Record(nil), records...))
		return 0, err
	}
	g := q.gathering(len(records))
	g.records = append(g.records, records...)
	g.bytes += bytes
	if done != nil {
		g.calls = append(g.calls, call{len(records), done})
	}
	q.held += bytes
	first = q.next
	q.next += uint64(len(records))
	q.mu.Unlock()
	q.work.Signal()
	return first, nil
}

// gathering returns the group that n records go into.
func (q *queue) gathering(n int) *group {
	if len(q.groups) > 0 {
		if g := q.groups[len(q.groups)-1]; len(g.records)+n <= groupRecords {
			return g
		}
	}
	g := new(group)
	if last := len(q.spare) - 1; last >= 0 {
		g, q.spare = q.spare[last], q.spare[:last]
	}
	q.groups = append(q.groups, g)
	return g
}

// take appends the groups that have gathered to list, and waits until there is one: none when
// the queue is closed and empty. It waits for n records, but not longer than most.
func (q *queue) take(list []*group, n int, most time.Duration) []*group {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.groups) == 0 && !q.closed {
		q.work.Wait()
	}
	if most > 0 && q.gathered() < n {
		over := false
		timer := time.AfterFunc(most, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			over = true
			q.work.Signal()
		})
		defer timer.Stop()
		for !over && !q.closed && q.gathered() < n {
			q.work.Wait()
		}
	}
	list = append(list, q.groups...)
	clear(q.groups)
	q.groups = q.groups[:0]
	return list
}

// gathered is how many records wait. The caller has the lock.
func (q *queue) gathered() (n int) {
	for _, g := range q.groups {
		n += len(g.records)
	}
	return n
}

// release gives the records of a group back.
func (q *queue) release(g *group) {
	clear(g.views)
	release(g.records)
	g.records = g.records[:0]
	q.mu.Lock()
	q.held -= g.bytes
	g.bytes = 0
	q.mu.Unlock()
	q.room.Broadcast()
}

// recycle takes groups that were taken, released and answered, to be used again.
func (q *queue) recycle(groups []*group) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, g := range groups {
		if len(q.spare) < spareGroups && cap(g.records) <= 2*groupRecords {
			g.first, g.err = 0, nil
			q.spare = append(q.spare, g)
		}
	}
	clear(groups)
}

// fail makes the queue refuse what comes, and returns the first reason.
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

// last is the number of the record that was put last.
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
