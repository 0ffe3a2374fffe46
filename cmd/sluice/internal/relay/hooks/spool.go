package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// ErrSpool means that the directory for events cannot be used.
var ErrSpool = errors.New("hooks: spool of events")

const (
	segmentSize  = 1 << 20 // bytes after which another file begins
	segmentEnd   = ".events"
	positionFile = "position"
	maxLine      = 64 << 10 // bytes of one event
)

// A spool keeps lines in files of a directory until they are acknowledged. One
// goroutine may append, and another one read and acknowledge.
type spool struct {
	open func() (dir string, lock *os.File, err error)
	dir  string // empty: it could not be opened yet, and append tries it again
	lock *os.File

	mu       sync.Mutex
	segments []int         // numbers of the files, the oldest first
	sizes    map[int]int64 // bytes of each
	out      *os.File      // the newest; nil before the first append

	held, lines atomic.Int64 // bytes of all files, and lines that are not acknowledged

	in *os.File // the oldest; nil: to be opened
	at position // changed by the reader only, under the lock

	damaged int // lines passed over since the reader last set it to 0
}

// A position is where the first line that is not acknowledged begins.
type position struct {
	Segment int   `json:"segment"`
	Offset  int64 `json:"offset"`
}

// openSpool opens or creates a spool in a directory; empty is a new one. A line that is cut off
// at the end of a file, by a crash, is left out. When the error is that the disk is full, the spool
// works, and takes lines from when there is room.
func openSpool(dir string) (*spool, error) {
	return newSpool(func() (string, *os.File, error) { return openDirectory(dir, lockFile) })
}

func newSpool(open func() (string, *os.File, error)) (*spool, error) {
	s := &spool{open: open, sizes: map[int]int64{}}
	err := s.begun()
	if err != nil && !full(err) {
		return nil, err
	}
	return s, err
}

// full reports whether an error is that the disk has no room.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// openDirectory makes a spool's directory, and locks it. A new one is removed again when that fails: on a full
// disk it is tried with each event.
func openDirectory(dir string, locked func(name string) (*os.File, error)) (string, *os.File, error) {
	if dir == "" {
		made, err := os.MkdirTemp("", "sluice-events-")
		if err != nil {
			return "", nil, fmt.Errorf("%w: %w", ErrSpool, err)
		}
		lock, err := locked(filepath.Join(made, "lock"))
		if err != nil {
			return "", nil, fmt.Errorf("%w: %s: %w", ErrSpool, made, errors.Join(err, os.RemoveAll(made)))
		}
		return made, lock, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, fmt.Errorf("%w: %w", ErrSpool, err)
	}
	lock, err := locked(filepath.Join(dir, "lock"))
	if full(err) {
		return "", nil, fmt.Errorf("%w: %s: %w", ErrSpool, dir, err)
	}
	if err != nil {
		return "", nil, fmt.Errorf("%w: %s is used by another server, or cannot be locked: %w", ErrSpool, dir, err)
	}
	return dir, lock, nil
}

// begun opens the directory, unless it is open. The lock is held, or no other goroutine has the spool yet.
func (s *spool) begun() error {
	if s.dir != "" {
		return nil
	}
	dir, lock, err := s.open()
	if err != nil {
		return err
	}
	s.dir, s.lock = dir, lock
	if err := s.load(); err != nil {
		s.dir, s.lock = "", nil
		return errors.Join(fmt.Errorf("%w: %s: %w", ErrSpool, dir, err), lock.Close())
	}
	return nil
}

func (s *spool) load() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		number, ok := strings.CutSuffix(e.Name(), segmentEnd)
		if n, err := strconv.Atoi(number); ok && err == nil && n > 0 {
			s.segments = append(s.segments, n)
		}
	}
	slices.Sort(s.segments)
	text, err := os.ReadFile(filepath.Join(s.dir, positionFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case json.Unmarshal(text, &s.at) != nil || s.at.Segment < 0 || s.at.Offset < 0:
		s.at = position{} // it is damaged: events come again, with their ids
	}
	for len(s.segments) > 0 && s.segments[0] < s.at.Segment {
		if err := os.Remove(s.name(s.segments[0])); err != nil {
			return err
		}
		s.segments = s.segments[1:]
	}
	for i, n := range s.segments {
		text, err := os.ReadFile(s.name(n))
		if err != nil {
			return err
		}
		whole := text[:bytes.LastIndexByte(text, '\n')+1]
		s.sizes[n] = int64(len(whole))
		if i == 0 && n == s.at.Segment && s.at.Offset <= int64(len(whole)) {
			whole = whole[s.at.Offset:]
		} else if i == 0 {
			s.at = position{Segment: n}
		}
		s.lines.Add(int64(bytes.Count(whole, []byte{'\n'})))
		s.held.Add(s.sizes[n])
	}
	return nil
}

func (s *spool) name(segment int) string {
	return filepath.Join(s.dir, fmt.Sprintf("%010d%s", segment, segmentEnd))
}

// append writes n whole lines. After an error none of them is in the spool.
func (s *spool) append(lines []byte, n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begun(); err != nil {
		return err
	}
	if s.out == nil || s.sizes[s.newest()] >= segmentSize {
		if err := s.begin(); err != nil {
			return err
		}
	}
	number := s.newest()
	if _, err := s.out.WriteAt(lines, s.sizes[number]); err != nil {
		return errors.Join(err, s.out.Truncate(s.sizes[number]))
	}
	s.sizes[number] += int64(len(lines))
	s.held.Add(int64(len(lines)))
	s.lines.Add(int64(n))
	return nil
}

// begin begins a file. The lock is held.
func (s *spool) begin() error {
	number := max(s.newest(), s.at.Segment) + 1
	f, err := os.OpenFile(s.name(number), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if s.out != nil {
		err = s.out.Close()
	}
	s.out = f
	s.segments = append(s.segments, number)
	s.sizes[number] = 0
	return err
}

// newest is the number of the newest file, 0 for none. The lock is held.
func (s *spool) newest() int {
	if len(s.segments) == 0 {
		return 0
	}
	return s.segments[len(s.segments)-1]
}

// size is how many bytes the files have, and how many lines are not acknowledged.
// It does not wait for the disk.
func (s *spool) size() (bytes int64, lines int) { return s.held.Load(), int(s.lines.Load()) }

// next returns the oldest lines that are not acknowledged, at most this many, and
// the position behind them for ack. There are none when all are acknowledged. Lines that
// are no events, because the disk or a crash has damaged them, are passed over: no
// receiver would ever take them, and those behind them would wait for ever.
func (s *spool) next(most int) (lines [][]byte, behind position, err error) {
	for {
		s.mu.Lock()
		if len(s.segments) == 0 {
			at := s.at // append may open the directory meanwhile
			s.mu.Unlock()
			return nil, at, nil
		}
		if oldest := s.segments[0]; s.at.Segment < oldest {
			s.at = position{Segment: oldest}
		}
		left, last := s.sizes[s.at.Segment]-s.at.Offset, len(s.segments) == 1
		s.mu.Unlock()
		if left > 0 {
			lines, err := s.read(left, most)
			if err != nil {
				return nil, s.at, err
			}
			whole := isEvent(lines[0])
			if n := slices.IndexFunc(lines, func(line []byte) bool { return isEvent(line) != whole }); n >= 0 {
				lines = lines[:n]
			}
			behind := s.at
			for _, line := range lines {
				behind.Offset += int64(len(line)) + 1
			}
			if whole {
				return lines, behind, nil
			}
			s.ack(len(lines), behind)
			s.damaged += len(lines)
			continue
		}
		if last {
			return nil, s.at, nil
		}
		if err := s.drop(); err != nil {
			return nil, s.at, err
		}
	}
}

func isEvent(line []byte) bool {
	return len(line) <= maxLine && bytes.HasPrefix(line, []byte("{")) && json.Valid(line)
}

// read reads one line or more at the position, from a file with this many more bytes.
func (s *spool) read(left int64, most int) ([][]byte, error) {
	if s.in == nil {
		f, err := os.Open(s.name(s.at.Segment))
		if err != nil {
			return nil, err
		}
		s.in = f
	}
	for n := min(left, maxLine+1); ; n = left { // a damaged line may be longer than any event
		p := make([]byte, n)
		if n, err := s.in.ReadAt(p, s.at.Offset); err != nil && (err != io.EOF || n < len(p)) {
			return nil, err
		}
		end := bytes.LastIndexByte(p, '\n')
		if end < 0 && n < left {
			continue
		}
		lines := bytes.Split(p[:max(end, 0)], []byte{'\n'})
		return lines[:min(len(lines), most)], nil
	}
}

// drop removes the oldest file, of which everything is acknowledged.
func (s *spool) drop() error {
	if s.in != nil {
		s.in.Close()
		s.in = nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := s.segments[0]
	if err := os.Remove(s.name(oldest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.held.Add(-s.sizes[oldest])
	delete(s.sizes, oldest)
	s.segments = s.segments[1:]
	s.at = position{Segment: s.segments[0]}
	return nil
}

// ack acknowledges n lines up to a position that next returned.
func (s *spool) ack(n int, behind position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = behind
	s.lines.Add(-int64(n))
}

// save writes the position down. Lines that were acknowledged after the latest
// save come again after a crash.
func (s *spool) save() error {
	s.mu.Lock()
	at, dir := s.at, s.dir
	s.mu.Unlock()
	if dir == "" {
		return nil
	}
	text, err := json.Marshal(at)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, positionFile)
	if err = os.WriteFile(name+".new", text, 0o600); err == nil {
		err = os.Rename(name+".new", name)
	}
	if err != nil {
		os.Remove(name + ".new")
	}
	return err
}

// close brings everything to the disk. Nothing may be appended or read after it.
func (s *spool) close() error {
	err := s.save()
	if s.in != nil {
		err = errors.Join(err, s.in.Close())
	}
	if s.out != nil {
		err = errors.Join(err, s.out.Sync(), s.out.Close())
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}
