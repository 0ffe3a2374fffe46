package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/sink/consensus"
	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

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
	if found, err := hasLog(dir); found || err != nil {
		return []string{dir}, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var nodes []string
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		node := filepath.Join(dir, e.Name())
		found, err := hasLog(node)
		if err != nil {
			return nil, err
		}
		if found {
			nodes = append(nodes, node)
		}
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoLog, dir)
	}
	return nodes, nil
}

func hasLog(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("%w: %s does not exist", ErrNoLog, dir)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), wal.Suffix) {
			return true, nil
		}
	}
	return false, err
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
