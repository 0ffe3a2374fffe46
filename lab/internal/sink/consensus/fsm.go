package consensus

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// recordLog is what the state machine needs of a wal.Log.
type recordLog interface {
	AppendBatch(records [][]byte) (first uint64, err error)
	Sync() error
	recordSource
}

// fillPatience bounds how long committed entries wait for records that come
// before them and have to be had from other nodes.
const fillPatience = 30 * time.Second

var errDiverged = errors.New("the node's log is not what the raft log says")

// A fsm appends the records of committed entries to the node's own log.
//
// Which entries are in it already follows from counting: the records of all
// entries, in their order, are the records of the log, so an entry's first record
// has the number at+1, whatever became of the log in the meantime. A record with a
// number that the log has is there; the rest of a batch of which a crash left a part is
// appended. So nothing of raft has to be in the log, and no write of two places has
// to be atomic.
type fsm struct {
	log      recordLog
	ctx      context.Context // of the node
	fail     func(error)     // puts the node out; must not wait
	fetch    func(ctx context.Context, to uint64, add func([][]byte) error) error
	snapshot chan<- struct{} // asks for a snapshot, because of what has come since the last
	bytes    int64           // after which that happens
	patience time.Duration   // see fillPatience

	commits atomic.Uint64 // entries applied since it was opened

	// Raft calls one at a time, but Persist; the lock is for fillFirst.
	mu    sync.Mutex
	at    uint64 // number of the last record of all entries so far, in the log or not
	since int64  // bytes since the last snapshot
	live  bool   // raft is running: gaps are filled at once
	err   error  // why nothing is applied any more
	there sums   // of what the log has beyond at
}

// applied is what Apply responds with: where the records are.
type applied struct {
	first uint64
	err   error
}

// Apply appends an entry.
func (f *fsm) Apply(l *raft.Log) any {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return applied{err: f.err}
	}
	first, err := f.apply(l)
	if err != nil {
		f.err = fmt.Errorf("entry %d: %w", l.Index, err)
		f.fail(f.err)
		return applied{err: f.err}
	}
	f.commits.Add(1)
	return applied{first: first}
}

func (f *fsm) apply(l *raft.Log) (first uint64, err error) {
	records, err := parseEntry(l.Data)
	if err != nil {
		return 0, err
	}
	if err := f.fill(); err != nil {
		return 0, err
	}
	first = f.at + 1
	there := min(f.log.LastIndex()-f.at, uint64(len(records)))
	if err := f.there.compare(f.log, first, records[:there]); err != nil {
		return 0, err
	}
	if rest := records[there:]; len(rest) > 0 {
		got, err := f.log.AppendBatch(rest)
		if err != nil {
			return 0, err
		}
		if got != first+there {
			return 0, fmt.Errorf("%w: a record that must be %d became %d", errDiverged, first+there, got)
		}
	}
	f.at += uint64(len(records))
	if f.since += int64(len(l.Data)); f.since >= f.bytes {
		select {
		case f.snapshot <- struct{}{}:
		default: // it is asked for
		}
	}
	return first, nil
}

// fill gets the records up to at that the log lacks. They are in no entry that raft
// would apply again: the log has lost them after a snapshot said that it has them,
// or the node was away for longer than raft's log reaches back.
func (f *fsm) fill() error {
	if f.log.LastIndex() >= f.at {
		return nil
	}
	ctx, cancel := context.WithTimeout(f.ctx, f.patience)
	defer cancel()
	retry := time.NewTicker(100 * time.Millisecond)
	defer retry.Stop()
	for {
		from := f.log.LastIndex() + 1
		var broken error
		err := f.fetch(ctx, f.at, func(records [][]byte) error {
			next := f.log.LastIndex() + 1
			got, err := f.log.AppendBatch(records)
			if err == nil && got != next {
				err = fmt.Errorf("%w: a record that must be %d became %d", errDiverged, next, got)
			}
			broken = err
			return err
		})
		switch {
		case broken != nil:
			return broken
		case f.log.LastIndex() >= f.at:
			return nil
		case f.log.LastIndex() >= from:
			continue // some came
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return fmt.Errorf("records %d to %d are missing here, and no other node has given them: %w",
				f.log.LastIndex()+1, f.at, errors.Join(err, ctx.Err()))
		}
	}
}

// start says that raft is running, and fills what the log lacks.
func (f *fsm) start() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live = true
	if f.err != nil {
		return
	}
	// A node that finds nobody now will ask again when it has to.
	if err := f.fill(); errors.Is(err, errDiverged) {
		f.err = err
		f.fail(err)
	}
}

// A snapshot is a position: the records themselves are in the log, which is
// synced before the position is written.
type position struct {
	f  *fsm
	at uint64
}

// Snapshot is called between two Applys.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	if last := f.log.LastIndex(); last < f.at {
		return nil, fmt.Errorf("records %d to %d have not come yet", last+1, f.at)
	}
	f.since = 0
	return &position{f, f.at}, nil
}

// Persist runs beside Apply.
func (p *position) Persist(sink raft.SnapshotSink) error {
	if err := p.f.log.Sync(); err != nil {
		p.f.fail(fmt.Errorf("sync before a snapshot: %w", err))
		return errors.Join(err, sink.Cancel())
	}
	if _, err := sink.Write(appendPosition(nil, p.at)); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// Release is called when raft is done with it.
func (p *position) Release() {}

// Restore takes the position of a snapshot: one of this node's own when it is
// opened, one of the leader's when raft's log no longer has what this node lacks.
func (f *fsm) Restore(r io.ReadCloser) error {
	defer r.Close()
	at, err := readPosition(r)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	f.at, f.since = at, 0
	if !f.live {
		return nil
	}
	// An error makes the leader send its snapshot again; what has come until
	// then stays.
	return f.fill()
}

const positionMagic = "SLSP\x01"

func appendPosition(b []byte, at uint64) []byte {
	return binary.BigEndian.AppendUint64(append(b, positionMagic...), at)
}

func readPosition(r io.Reader) (uint64, error) {
	var b [len(positionMagic) + 8]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, fmt.Errorf("snapshot: %w", err)
	}
	if string(b[:len(positionMagic)]) != positionMagic {
		return 0, fmt.Errorf("%w: a snapshot begins with % x", errEntry, b)
	}
	return binary.BigEndian.Uint64(b[len(positionMagic):]), nil
}
