package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/sink/acked"
	"github.com/sluice-go/sluice/lab/internal/sink/consensus"
	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

// Examples is how many numbers a list of missing ones has at most.
const Examples = 10

// A Result is what logs hold, and, where it was asked for, what is acknowledged of
// it.
type Result struct {
	Logs  []Log  `json:"logs"`
	Acked *Acked `json:"acked,omitempty"`
}

// Acked is what became of the records that were acknowledged. With several
// logs, those of the nodes of a cluster, a record is found when one of them has it and
// none has another under its number.
type Acked struct {
	File    string `json:"file"`
	Entries uint64 `json:"entries"`
	Found   uint64 `json:"found"`
	// Majority is how many of those are in more than half of the logs.
	Majority uint64 `json:"majority"`
	Missing  uint64 `json:"missing"` // no log has a record of this number
	Wrong    uint64 `json:"wrong"`   // a log has another one under it
	// The first of each.
	FirstMissing []uint64 `json:"first_missing,omitempty"`
	FirstWrong   []uint64 `json:"first_wrong,omitempty"`
}

// Holds reports whether everything that was acknowledged is there.
func (a *Acked) Holds() bool { return a.Found == a.Entries }

// An entry is what was acknowledged, and in how many logs it is and is not.
type entry struct {
	index       uint64
	crc, length uint32
	same, other uint16
}

// MaxLogs is how many logs can be compared.
const MaxLogs = 1000

// Broken is how many logs cannot be read, or are damaged.
func (r *Result) Broken() (n int) {
	for _, l := range r.Logs {
		if l.Error != "" {
			n++
		}
	}
	return n
}

// Check reads the logs in the directories, each a log's or that of a --trio's nodes, in which no
// sink runs, and, if ackedFile is not empty, compares the file's entries with them. Sixteen bytes
// of the file take 24 of memory. Of a log that cannot be read, or is damaged, what comes before
// that counts, and its Error says so. An error means that the file could not be read, or that ctx ended.
func Check(ctx context.Context, dirs []string, ackedFile string) (*Result, error) {
	result := &Result{Logs: logs(dirs)}
	if len(result.Logs) > MaxLogs {
		return nil, fmt.Errorf("verify: %d logs, at most %d", len(result.Logs), MaxLogs)
	}
	var entries []entry
	if ackedFile != "" {
		f, err := os.Open(ackedFile)
		if err != nil {
			return nil, err
		}
		entries, err = readEntries(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", ackedFile, err)
		}
	}
	for i := range result.Logs {
		log := &result.Logs[i]
		if log.Error != "" {
			continue
		}
		next := 0
		var others []*entry
		sure, err := log.read(func(index uint64, record []byte) error {
			if index%1024 == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			for next < len(entries) && entries[next].index < index {
				next++
			}
			for ; next < len(entries) && entries[next].index == index; next++ {
				e := &entries[next]
				if int(e.length) == len(record) && e.crc == Sum(record) {
					e.same++
				} else {
					others = append(others, e)
				}
			}
			return nil
		})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			log.Error = err.Error()
		}
		for _, e := range others {
			// What a node has behind that was not committed, and is replaced when it
			// hears of the leader.
			if e.index <= sure {
				e.other++
			}
		}
	}
	if ackedFile != "" {
		result.Acked = judge(ackedFile, entries, len(result.Logs))
	}
	return result, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum is the checksum of a payload in a file of what was acknowledged: CRC32C.
func Sum(payload []byte) uint32 { return crc32.Checksum(payload, castagnoli) }

func readEntries(r io.Reader) ([]entry, error) {
	var entries []entry
	err := acked.Read(r, func(index uint64, crc, length uint32) error {
		if len(entries) == math.MaxInt32 {
			return errors.New("too many entries")
		}
		entries = append(entries, entry{index: index, crc: crc, length: length})
		return nil
	})
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.index, b.index) })
	return entries, err
}

func judge(file string, entries []entry, logs int) *Acked {
	a := &Acked{File: file, Entries: uint64(len(entries))}
	for i := range entries {
		e := &entries[i]
		switch {
		case e.other > 0:
			a.Wrong++
			if len(a.FirstWrong) < Examples {
				a.FirstWrong = append(a.FirstWrong, e.index)
			}
		case e.same == 0:
			a.Missing++
			if len(a.FirstMissing) < Examples {
				a.FirstMissing = append(a.FirstMissing, e.index)
			}
		default:
			a.Found++
			if int(e.same) > logs/2 {
				a.Majority++
			}
		}
	}
	return a
}

// A Log is what was read of one directory.
type Log struct {
	Dir          string `json:"dir"`
	Records      uint64 `json:"records"`
	First        uint64 `json:"first"` // always 1
	wal.Recovery        // Last is that of the records; what was cut is still there, for the next start of a sink
	// Error says why it cannot be read, or what is damaged; Records is then what comes before that.
	Error string `json:"error,omitempty"`
}

// ErrNoLog: a directory has no log in it.
var ErrNoLog = errors.New("verify: no log there")

// logs returns the logs that dirs stand for, to be read. A directory that stands for none has an Error.
func logs(dirs []string) (list []Log) {
	for _, dir := range dirs {
		nodes, err := nodes(dir)
		if err != nil {
			list = append(list, Log{Dir: dir, Error: err.Error()})
			continue
		}
		for _, node := range nodes {
			list = append(list, Log{Dir: node})
		}
	}
	return list
}

// nodes returns the directories of the logs that dir stands for: itself, or those
// of its nodes when it is that of an embedded cluster.
func nodes(dir string) ([]string, error) {
	found, below, err := look(dir)
	if found || err != nil {
		return []string{dir}, err
	}
	var nodes []string
	for _, node := range below {
		switch found, _, err := look(node); {
		case err != nil:
			return nil, err
		case found:
			nodes = append(nodes, node)
		}
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoLog, dir)
	}
	return nodes, nil
}

// look reports whether a directory is that of a log, and which directories are below it.
func look(dir string) (isLog bool, below []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil, fmt.Errorf("%w: %s does not exist", ErrNoLog, dir)
	}
	for _, e := range entries {
		if isLog = isLog || strings.HasSuffix(e.Name(), wal.Suffix); e.IsDir() {
			below = append(below, filepath.Join(dir, e.Name()))
		}
	}
	return isLog, below, err
}

// read reads the log and passes its records to fn, borrowed until it returns. The records up to sure
// are the same in all logs of a cluster.
func (l *Log) read(fn func(index uint64, record []byte) error) (sure uint64, err error) {
	var c consensus.Contents
	if consensus.IsNode(l.Dir) {
		c, err = consensus.Scan(l.Dir, fn)
	} else {
		c.Recovery, err = wal.Scan(l.Dir, fn)
		c.Last, c.Committed = c.Recovery.Last, c.Recovery.Last
	}
	l.Records, l.First, l.Recovery = c.Last, 1, c.Recovery
	l.Last = c.Last
	return c.Committed, err
}
