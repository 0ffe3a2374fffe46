package consensus

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

// votesFile holds raft's term and whom the node has voted for: two copies, each in a
// page of its own, of a sequence number, a length, a CRC32C of both and of what follows,
// and the values as JSON. The second copy is written when the first is on the disk, so
// that one of them is whole whenever the machine stops, and one that is damaged is
// mended from the other.
const (
	votesFile   = "votes"
	votesPage   = 4096
	votesHeader = 16
	votesCopies = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const keyTerm = "CurrentTerm"

type votes struct {
	fs      wal.FS
	name    string // path
	fail    func(error)
	running atomic.Bool

	mu     sync.Mutex
	seq    uint64
	values map[string][]byte
}

// openVotes reads the votes of a node in a directory of their own. fresh says that the
// node has no entries: its votes may be missing, or have been torn when they were
// written for the first time.
func openVotes(fsys wal.FS, dir string, fresh bool, fail func(error)) (*votes, error) {
	if err := fsys.MkdirAll(dir); err != nil {
		return nil, err
	}
	v := &votes{fs: fsys, name: filepath.Join(dir, votesFile), fail: fail, values: map[string][]byte{}}
	f, err := fsys.Open(v.name, false)
	if errors.Is(err, fs.ErrNotExist) {
		if !fresh {
			return nil, fmt.Errorf("%w: %s is missing, and with it whom the node voted for", ErrState, v.name)
		}
		if f, err = fsys.Create(v.name); err == nil {
			err = errors.Join(f.Close(), fsys.SyncDir(dir))
		}
		return v, err
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	whole := 0
	for i := range int64(votesCopies) {
		var b [votesPage]byte
		n, _ := f.ReadAt(b[:], i*votesPage) // what cannot be read has no checksum
		seq, values, ok := parseVotes(b[:n])
		if !ok {
			continue
		}
		if whole++; seq > v.seq {
			v.seq, v.values = seq, values
		}
	}
	switch {
	case whole == votesCopies, whole == 0 && fresh:
		return v, nil
	case whole == 0:
		return nil, fmt.Errorf("%w: both copies in %s are damaged, and with them whom the node voted for", ErrState, v.name)
	}
	return v, v.write(v.values)
}

func parseVotes(b []byte) (seq uint64, values map[string][]byte, ok bool) {
	if len(b) < votesHeader {
		return 0, nil, false
	}
	seq = binary.BigEndian.Uint64(b)
	n := int(min(binary.BigEndian.Uint32(b[8:]), votesPage))
	if n > len(b)-votesHeader || votesSum(b, n) != binary.BigEndian.Uint32(b[12:]) {
		return 0, nil, false
	}
	return seq, values, json.Unmarshal(b[votesHeader:votesHeader+n], &values) == nil
}

func votesSum(b []byte, n int) uint32 {
	return crc32.Update(crc32.Checksum(b[:12], castagnoli), castagnoli, b[votesHeader:votesHeader+n])
}

func (v *votes) write(values map[string][]byte) error {
	text, err := json.Marshal(values)
	if err != nil || len(text) > votesPage-votesHeader {
		return errors.Join(err, fmt.Errorf("%d bytes of votes", len(text)))
	}
	b := binary.BigEndian.AppendUint64(nil, v.seq+1)
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	b = append(append(b, 0, 0, 0, 0), text...)
	binary.BigEndian.PutUint32(b[12:], votesSum(b, len(text)))
	f, err := v.fs.Open(v.name, true)
	if err != nil {
		return err
	}
	defer f.Close()
	for i := range int64(votesCopies) {
		if _, err := f.WriteAt(b, i*votesPage); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
	}
	v.seq, v.values = v.seq+1, values
	return nil
}

// Set stores a value, synced.
func (v *votes) Set(key, value []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	values := maps.Clone(v.values)
	values[string(key)] = value
	err := v.write(values)
	if err != nil {
		err = fmt.Errorf("%s: storing %s: %w", v.name, key, err)
		v.fail(err)
	}
	return err
}

// SetUint64 stores a number, synced.
func (v *votes) SetUint64(key []byte, value uint64) error {
	err := v.Set(key, binary.BigEndian.AppendUint64(nil, value))
	if err != nil && string(key) == keyTerm {
		exitRaft(&v.running)
	}
	return err
}

func (v *votes) Get(key []byte) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.values[string(key)], nil
}

func (v *votes) GetUint64(key []byte) (uint64, error) {
	b, _ := v.Get(key)
	if len(b) != 8 {
		return 0, nil
	}
	return binary.BigEndian.Uint64(b), nil
}
