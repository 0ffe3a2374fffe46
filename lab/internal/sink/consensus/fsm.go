package consensus

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"
)

// A fsm numbers records. They are in the node's log when raft commits them, and stay
// there, so that applying an entry is counting: its first record has the number behind
// the last one of the entries before it. Raft calls one method at a time.
type fsm struct {
	fail    func(error) // puts the node out; must not wait
	entries *entries

	last uint64 // number of the last record of all entries so far
	err  error  // why nothing is applied any more
}

// applied is what Apply responds with: where the records are.
type applied struct {
	first uint64
	err   error
}

// Apply numbers the records of an entry.
func (f *fsm) Apply(l *raft.Log) any {
	if f.err != nil {
		return applied{err: f.err}
	}
	e := entry{Log: *l}
	n, err := e.count()
	if err != nil {
		f.err = fmt.Errorf("entry %d: %w", l.Index, err)
		f.fail(f.err)
		return applied{err: f.err}
	}
	first := f.last + 1
	f.last += n
	f.entries.committed.Store(l.Index)
	return applied{first: first}
}

// errNoSnapshots: all entries are kept, so that no node ever needs a snapshot.
var errNoSnapshots = errors.New("consensus: there are no snapshots")

// Snapshot is never asked for.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) { return nil, errNoSnapshots }

// Restore is never asked for.
func (f *fsm) Restore(r io.ReadCloser) error { return errors.Join(errNoSnapshots, r.Close()) }
