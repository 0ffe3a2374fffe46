package sink

import (
	"errors"
	"sync"
	"time"

	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

// Groups says how many records shared an fsync.
type Groups struct {
	Syncs   uint64 `json:"syncs"`
	Records uint64 `json:"records"` // that were synced by those
	Most    uint64 `json:"most"`    // records of the largest group
}

// add counts a group of n records.
func (g *Groups) add(n int) {
	g.Syncs++
	g.Records += uint64(n)
	g.Most = max(g.Most, uint64(n))
}

// Sync is a Store that acknowledges after fsync. Records that come while one is
// under way are written together and share the next: group commit.
type Sync struct {
	stored
	most time.Duration // see NewLingering

	mu     sync.Mutex
	groups Groups
}

// NewSync returns a store over a log, transferred.
func NewSync(log Log) *Sync { return NewLingering(log, 0) }

// NewLingering returns a store which waits, before it writes, for as many records as it
// had last time, but not longer than an eighth of the time that took, nor than most. Clients that wait
// for answers have just got them, and the first of their next records would go alone: that costs
// much where a write is long, as a round of Raft is.
func NewLingering(log Log, most time.Duration) *Sync {
	s := &Sync{stored: stored{log: log, queue: newQueue(queueBytes, 0), stop: make(chan struct{})}, most: most}
	s.running.Go(s.run)
	return s
}

// Append implements Store.
func (s *Sync) Append(records []Record, done func(first uint64, err error)) {
	if _, err := s.queue.put(records, done); err != nil {
		done(0, err)
	}
}

// run writes what has gathered, and syncs it.
func (s *Sync) run() {
	var groups []*group
	last, linger := 0, time.Duration(0)
	for {
		if groups = s.queue.take(groups[:0], last, linger); len(groups) == 0 {
			return
		}
		written, began := 0, time.Now()
		var passing error // there is no other for what has come meanwhile
		for _, g := range groups {
			if g.err = errors.Join(s.queue.err(), passing); g.err == nil {
				n := len(g.records)
				if g.first, g.err = s.log.AppendBatch(g.payloads()); g.err == nil {
					written += n
				} else if temporary(g.err) {
					passing = g.err
				} else {
					g.err = s.refused(g.err)
				}
			}
			s.queue.release(g)
		}
		var err error
		if written > 0 {
			if err = s.log.Sync(); err != nil {
				err = s.refused(err)
			} else {
				s.mu.Lock()
				s.groups.add(written)
				s.mu.Unlock()
			}
		}
		for _, g := range groups {
			if g.err == nil {
				g.err = err
			}
			g.answer(g.err)
		}
		s.queue.recycle(groups)
		last, linger = written, min(time.Since(began)/8, s.most)
	}
}

// temporary reports whether an error of the log says that it passes.
func temporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// refused is an error of the log, as the store's.
func (s *Sync) refused(err error) error {
	if errors.Is(err, wal.ErrTooLong) {
		return err // which is about these records only
	}
	return s.fail(err)
}

// Window implements Store.
func (s *Sync) Window() string {
	return "sync: acknowledged after fsync; neither a kill nor a power cut loses what was acknowledged, as far as the disk keeps its word"
}

// Groups returns how many records have shared an fsync so far.
func (s *Sync) Groups() Groups {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.groups
}
