package hooks

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"strconv"
	"sync"
	"time"
)

// A queue has the events that are not in the spool yet.
type queue struct {
	log     *slog.Logger
	prefix  string // of ids
	most    int64  // bytes, with those in the spool
	spool   *spool
	metrics *eventMetrics

	mu      sync.Mutex
	waiting []byte // lines
	lines   int
	writing int    // bytes that are being written to the spool
	number  uint64 // of the newest event
	missed  int64  // events for which there was no room, since the latest Lost
	said    losses // by events of waiting
	failing bool   // the disk has not taken the latest
	closed  bool

	grown chan struct{} // has an element when waiting has grown
}

// losses is what Lost events say, and how many of them do.
type losses struct{ lines, events int64 }

// newPrefix is unique to this process.
func newPrefix() string {
	var b [6]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:]) + "-"
}

// add adds an event, and fills in its ID and, if it is zero, its Time. After close it
// does nothing.
func (q *queue) add(v Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.metrics.events.WithLabelValues(v.Event).Inc()
	if v.Time.IsZero() {
		v.Time = time.Now()
	}
	held, _ := q.spool.size()
	room := q.most - held - int64(len(q.waiting)+q.writing)
	if q.missed > 0 && room >= 2*maxShort {
		q.append(Event{Event: Lost, Time: v.Time, Count: q.missed})
		q.said.lines++
		q.said.events += q.missed
		q.missed = 0
	}
	if q.missed > 0 || room < maxShort {
		if q.missed++; q.missed == 1 {
			q.log.Error("the spool of events is full: events are lost", "limit", q.most)
		}
		q.metrics.lost.Inc()
		return
	}
	q.append(v)
}

// maxShort is more than the bytes of an event whose texts have the usual limits.
const maxShort = 4 << 10

// append adds a line, unless that is too long for a reader of the spool. The lock is held.
func (q *queue) append(v Event) {
	q.number++
	v.ID, v.Time = q.prefix+strconv.FormatUint(q.number, 10), v.Time.UTC()
	v.Reason = v.Reason[:min(len(v.Reason), 500)]
	line, err := json.Marshal(v)
	if err != nil || len(line) > maxLine {
		// Sessions bound their texts, which come from peers: where one does not, its event is lost, and no server ends.
		q.missed++
		q.metrics.lost.Inc()
		q.log.Error("an event is lost: it is too long", "event", v.Event, "stream", v.Stream[:min(len(v.Stream), 120)], "bytes", len(line), "limit", maxLine, "error", err)
		return
	}
	q.waiting = append(append(q.waiting, line...), '\n')
	q.lines++
	notify(q.grown)
}

// flush writes what waits to the spool, and reports whether that has grown.
func (q *queue) flush() (grown bool) {
	q.mu.Lock()
	lines, n, said := q.waiting, q.lines, q.said
	q.waiting, q.lines, q.said, q.writing = nil, 0, losses{}, len(lines)
	q.mu.Unlock()
	if n == 0 {
		return false
	}
	err := q.spool.append(lines, n)
	lost := int64(n) - said.lines
	q.mu.Lock()
	q.writing = 0
	before := q.failing
	if q.failing = err != nil; err != nil {
		q.missed += lost + said.events
	}
	q.mu.Unlock()
	if err != nil {
		q.metrics.lost.Add(float64(lost))
		if !before {
			q.log.Error("events are lost", "error", err)
		}
		return false
	}
	if before {
		q.log.Info("events are kept again")
	}
	return true
}

// close makes add do nothing. It reports whether it is the first call.
func (q *queue) close() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	first := !q.closed
	q.closed = true
	return first
}
