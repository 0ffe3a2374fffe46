package consensus

import (
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"

	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

// raftDir is the directory in a node's, beside its log, that holds its votes.
const raftDir = "raft"

// IsNode reports whether a directory is that of a node.
func IsNode(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, raftDir))
	return err == nil
}

// A Contents is what was read of a node's log.
type Contents struct {
	wal.Recovery        // of its entries
	Last         uint64 // number of the last record
	// Committed is the number of the last record that was known here to be committed.
	// Those behind it may be others at other nodes: a leader's that was replaced.
	Committed uint64
}

// Scan reads the log of a node that does not run, without changing anything, and passes
// the clients' records to fn, borrowed until it returns. An error of fn ends it and is
// returned.
func Scan(dir string, fn func(index uint64, record []byte) error) (c Contents, err error) {
	var committed uint64 // entry
	var ends []uint64    // number of the last record of each entry behind that
	c.Recovery, err = wal.Scan(dir, func(index uint64, b []byte) error {
		var e entry
		if err := e.parse(index, b); err != nil {
			return err
		}
		if e.Type == raft.LogCommand {
			records, err := parseRecords(e.Data)
			if err != nil {
				return err
			}
			for _, r := range records {
				c.Last++
				if err := fn(c.Last, r); err != nil {
					return err
				}
			}
		}
		ends = append(ends, c.Last)
		if e.committed > committed {
			n := e.committed - committed
			committed, c.Committed = e.committed, ends[n-1]
			ends = ends[n:]
		}
		return nil
	})
	return c, err
}
