package consensus

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// A disk is where raft keeps its log, its term and its votes: BoltDB, which
// syncs each transaction before it returns. When it refuses a write the node is out: what
// was promised with it cannot be kept, and raft would either try for ever or panic.
type disk struct {
	*raftboltdb.BoltStore
	file    string
	fail    func(error)
	running atomic.Bool // raft's goroutines are the callers
}

// StoreLogs stores entries, synced.
func (d *disk) StoreLogs(logs []*raft.Log) error {
	return d.check("entries", d.BoltStore.StoreLogs(logs))
}

// StoreLog stores an entry, synced.
func (d *disk) StoreLog(l *raft.Log) error { return d.StoreLogs([]*raft.Log{l}) }

// DeleteRange deletes entries.
func (d *disk) DeleteRange(first, last uint64) error {
	return d.check("the deletion of entries", d.BoltStore.DeleteRange(first, last))
}

// GetLog reads an entry.
func (d *disk) GetLog(index uint64, l *raft.Log) error {
	err := d.BoltStore.GetLog(index, l)
	if err == nil || errors.Is(err, raft.ErrLogNotFound) {
		return err
	}
	err = fmt.Errorf("raft's log %s: reading entry %d: %w", d.file, index, err)
	d.fail(err)
	d.giveUp()
	return err
}

// Set stores a value, synced.
func (d *disk) Set(key, value []byte) error {
	return d.check(string(key), d.BoltStore.Set(key, value))
}

// SetUint64 stores a number, synced.
func (d *disk) SetUint64(key []byte, value uint64) error {
	err := d.check(string(key), d.BoltStore.SetUint64(key, value))
	if err != nil && string(key) == keyTerm {
		d.giveUp()
	}
	return err
}

// giveUp ends the goroutine of raft that calls it. Raft panics when it cannot
// store its term, or read an entry that it needs, which would take the other nodes
// of a trio along. It may not go on either: without the term it might vote twice. The
// node is being shut down.
func (d *disk) giveUp() {
	if d.running.Load() {
		runtime.Goexit()
	}
}

func (d *disk) check(what string, err error) error {
	if err != nil {
		err = fmt.Errorf("raft's log %s: storing %s: %w", d.file, what, err)
		d.fail(err)
	}
	return err
}

// keyTerm is what raft calls its term in a StableStore.
const keyTerm = "CurrentTerm"
