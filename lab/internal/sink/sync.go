package sink

import "time"

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

// Append implements Store.
func (s *Sync) Append(records []Record, done func(first uint64, err error)) {
	if _, err := s.queue.put(records, done); err != nil {
		done(0, err)
	}
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
