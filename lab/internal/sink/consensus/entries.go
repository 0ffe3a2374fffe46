package consensus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

const scratchKept = 4 << 20

// entries are raft's log, in a node's own: entry n is record n, so that every byte
// that raft reads has passed its checksum. Old entries are never removed.
//
// When the disk refuses a write, or an entry is damaged, the node is out: what was
// promised with it cannot be kept, and raft would either try for ever or panic.
type entries struct {
	log       *wal.Log
	fail      func(error)
	running   atomic.Bool   // raft's goroutines are the callers
	committed atomic.Uint64 // index of the last entry that is known to be committed

	storing atomic.Pointer[time.Time] // since when the disk has an entry; nil: it has none
	records atomic.Uint64             // number of the last client record

	mu      sync.Mutex // held while the disk works
	reader  *wal.Reader
	scratch []byte
}

// openEntries takes a log that has been opened, borrowed.
func openEntries(log *wal.Log, fail func(error)) (*entries, error) {
	s := &entries{log: log, fail: fail, reader: log.NewReader()}
	last := log.LastIndex()
	if last == 0 {
		return s, nil
	}
	n, err := s.recordsUntil(last)
	s.records.Store(n)
	return s, err
}

func (s *entries) recordsUntil(index uint64) (uint64, error) {
	var e entry
	b, err := s.reader.Get(index)
	if err == nil {
		err = e.parse(index, b)
	}
	if err != nil {
		return 0, err
	}
	n, err := e.count()
	return e.before + n, err
}

func (s *entries) lastRecord() uint64 { return s.records.Load() }

func (s *entries) stuck() time.Duration {
	if since := s.storing.Load(); since != nil {
		return time.Since(*since)
	}
	return 0
}

func (s *entries) FirstIndex() (uint64, error) { return min(1, s.log.LastIndex()), nil }

func (s *entries) LastIndex() (uint64, error) { return s.log.LastIndex(), nil }

func (s *entries) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs stores entries, synced.
func (s *entries) StoreLogs(logs []*raft.Log) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ends, records := s.scratch[:0], make([]int, len(logs)), s.records.Load()
	for i, l := range logs {
		e := entry{*l, records, s.committed.Load()}
		n, err := e.count()
		if err != nil {
			return s.out("storing entries", err)
		}
		records += n
		b = e.append(b)
		ends[i] = len(b)
	}
	parts, from := make([][]byte, len(logs)), 0
	for i, end := range ends {
		parts[i], from = b[from:end], end
	}
	if s.scratch = b; cap(b) > scratchKept {
		s.scratch = nil
	}
	if last := s.log.LastIndex(); logs[0].Index != last+1 {
		return s.out("storing entries", fmt.Errorf("entry %d behind %d", logs[0].Index, last))
	}
	began := time.Now()
	s.storing.Store(&began)
	_, err := s.log.AppendBatch(parts)
	if err == nil {
		err = s.log.Sync()
	}
	s.storing.Store(nil)
	if err != nil {
		return s.out("storing entries", err)
	}
	s.records.Store(records)
	return nil
}

// DeleteRange deletes entries that were never committed, from one to the last.
func (s *entries) DeleteRange(first, last uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first < 2 || last < s.log.LastIndex() {
		return s.out("deleting entries", fmt.Errorf("%d to %d of %d are not the last ones", first, last, s.log.LastIndex()))
	}
	s.reader.Close()
	err := s.log.TruncateBack(first - 1)
	var records uint64
	if err == nil {
		records, err = s.recordsUntil(first - 1)
	}
	if err != nil {
		return s.out("deleting entries", err)
	}
	s.records.Store(records)
	return nil
}

// GetLog reads an entry into memory of its own.
func (s *entries) GetLog(index uint64, l *raft.Log) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.reader.Get(index)
	if errors.Is(err, wal.ErrNoRecord) {
		return raft.ErrLogNotFound
	}
	var e entry
	if err == nil {
		err = e.parse(index, b)
	}
	if err != nil {
		err = s.out(fmt.Sprintf("reading entry %d", index), err)
		s.mu.Unlock()
		defer s.mu.Lock()
		exitRaft(&s.running)
		return err
	}
	*l = e.Log
	l.Extensions, l.Data = slices.Clone(e.Extensions), slices.Clone(e.Data)
	return nil
}

func (s *entries) out(what string, err error) error {
	err = fmt.Errorf("raft's log: %s: %w", what, err)
	s.fail(err)
	return err
}

// exitRaft ends the goroutine of raft that calls it. Raft panics when it cannot
// store its term, or read an entry that it needs, which would take the other nodes
// of a trio along. It must not go on either: without the term it might vote twice. The
// node is being shut down.
func exitRaft(running *atomic.Bool) {
	if running.Load() {
		runtime.Goexit()
	}
}

// A fsm numbers records. They are in the node's log when raft commits them, and stay
// there, so that applying an entry is counting: its first record has the number behind
// the last one of the entries before it. Raft calls one method at a time.
type fsm struct {
	fail    func(error) // puts the node out; must not wait
	entries *entries

	last uint64 // number of the last record of all entries so far
	err  error  // why nothing is applied any more
}

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

func (f *fsm) Snapshot() (raft.FSMSnapshot, error) { return nil, errNoSnapshots }

func (f *fsm) Restore(r io.ReadCloser) error { return errors.Join(errNoSnapshots, r.Close()) }

// An entryHead is what a node's log has of an entry of raft before its extensions and its
// data, all big-endian. The data of a command is a 4-byte number of records, their lengths
// in 4 bytes each, and their bytes.
type entryHead struct {
	Form        uint8 // entryForm
	Type        raft.LogType
	Index, Term uint64
	Before      uint64 // number of the last client record before it
	Committed   uint64 // index of the last entry that was known to be committed when it was stored
	Extensions  uint32 // their length
}

const (
	entryForm   = 2
	entryHeader = 38 // bytes of an entryHead
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
	b, err := binary.Append(b, binary.BigEndian, entryHead{entryForm, e.Type, e.Index, e.Term, e.before, e.committed, uint32(len(e.Extensions))})
	if err != nil {
		panic("consensus: " + err.Error()) // its length is not fixed
	}
	return append(append(b, e.Extensions...), e.Data...)
}

// parse reads an entry, whose extensions and data are parts of b.
func (e *entry) parse(index uint64, b []byte) error {
	var h entryHead
	if _, err := binary.Decode(b, binary.BigEndian, &h); err != nil || h.Form != entryForm {
		return fmt.Errorf("%w: record %d begins with % x", errEntry, index, b[:min(len(b), 8)])
	}
	rest := b[entryHeader:]
	if h.Index != index || h.Committed >= index || uint64(h.Extensions) > uint64(len(rest)) {
		return fmt.Errorf("%w: record %d says that it is entry %d with %d bytes of extensions", errEntry, index, h.Index, h.Extensions)
	}
	e.Type, e.Index, e.Term, e.before, e.committed = h.Type, h.Index, h.Term, h.Before, h.Committed
	e.Extensions, e.Data = rest[:h.Extensions], rest[h.Extensions:]
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

func appendRecords(b []byte, records [][]byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(records)))
	for _, r := range records {
		b = binary.BigEndian.AppendUint32(b, uint32(len(r)))
	}
	for _, r := range records {
		b = append(b, r...)
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
