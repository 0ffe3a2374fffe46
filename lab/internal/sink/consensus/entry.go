package consensus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"

	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

// What a node's log has for an entry of raft, all big-endian:
//
//	 0  1  form, 2
//	 1  1  type of the entry: raft.LogType
//	 2  8  index
//	10  8  term
//	18  8  number of the last client record before it
//	26  8  index of the last entry that was known to be committed when it was stored
//	34  4  length of the extensions
//	38  .  extensions, then data
//
// The data of a command is a 4-byte number of records, their lengths in 4 bytes each,
// and their bytes.
const (
	entryForm   = 2
	entryHeader = 38
	countLength = 4
	sizeLength  = 4
)

// errEntry: a record of a log that is not an entry of this cluster's raft.
var errEntry = fmt.Errorf("%w: not an entry of raft", ErrState)

type entry struct {
	raft.Log
	before    uint64
	committed uint64
}

func (e *entry) append(b []byte) []byte {
	b = append(b, entryForm, byte(e.Type))
	b = binary.BigEndian.AppendUint64(b, e.Index)
	b = binary.BigEndian.AppendUint64(b, e.Term)
	b = binary.BigEndian.AppendUint64(b, e.before)
	b = binary.BigEndian.AppendUint64(b, e.committed)
	b = binary.BigEndian.AppendUint32(b, uint32(len(e.Extensions)))
	return append(append(b, e.Extensions...), e.Data...)
}

// parse reads an entry, whose extensions and data are parts of b.
func (e *entry) parse(index uint64, b []byte) error {
	if len(b) < entryHeader || b[0] != entryForm {
		return fmt.Errorf("%w: record %d begins with % x", errEntry, index, b[:min(len(b), 8)])
	}
	e.Type = raft.LogType(b[1])
	e.Index = binary.BigEndian.Uint64(b[2:])
	e.Term = binary.BigEndian.Uint64(b[10:])
	e.before = binary.BigEndian.Uint64(b[18:])
	e.committed = binary.BigEndian.Uint64(b[26:])
	extensions := uint64(binary.BigEndian.Uint32(b[34:]))
	if e.Index != index || e.committed >= index || extensions > uint64(len(b)-entryHeader) {
		return fmt.Errorf("%w: record %d says that it is entry %d with %d bytes of extensions", errEntry, index, e.Index, extensions)
	}
	e.Extensions = b[entryHeader : entryHeader+extensions]
	e.Data = b[entryHeader+extensions:]
	return nil
}

func (e *entry) count() (uint64, error) {
	if e.Type != raft.LogCommand {
		return 0, nil
	}
	if len(e.Data) < countLength {
		return 0, errors.New("a command without a count")
	}
	return uint64(binary.BigEndian.Uint32(e.Data)), nil
}

func appendSizes(b []byte, sizes []int) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(sizes)))
	for _, n := range sizes {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return b
}

// parseRecords returns the records of a command, which are parts of it.
func parseRecords(b []byte) ([][]byte, error) {
	if len(b) < countLength {
		return nil, fmt.Errorf("%w: a command of %d bytes", errEntry, len(b))
	}
	count := uint64(binary.BigEndian.Uint32(b))
	sizes := b[countLength:]
	if count == 0 || count*sizeLength > uint64(len(sizes)) {
		return nil, fmt.Errorf("%w: %d records in %d bytes", errEntry, count, len(b))
	}
	payload := sizes[count*sizeLength:]
	records := make([][]byte, count)
	for i := range records {
		n := uint64(binary.BigEndian.Uint32(sizes[i*sizeLength:]))
		if n > uint64(len(payload)) {
			return nil, fmt.Errorf("%w: record %d of %d has %d bytes, %d are left", errEntry, i+1, count, n, len(payload))
		}
		records[i], payload = payload[:n:n], payload[n:]
	}
	if len(payload) > 0 {
		return nil, fmt.Errorf("%w: %d bytes behind the last record", errEntry, len(payload))
	}
	return records, nil
}

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
