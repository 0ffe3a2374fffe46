package hls

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/archive"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/mp4"
)

// tapes is what was recorded: archive.Union.
type tapes interface {
	Tape(stream string, from time.Time) (*archive.Tape, error)
	Open(file string) (*os.File, archive.Recording, error)
	After(stream, file string) []string
}

const (
	// leastPast and mostPast are how long segments of a recording are, but for the last
	// one of a file: from one key frame to another after the least, or to a fragment
	// without one before the most.
	leastPast, mostPast = 6 * time.Second, 10 * time.Second
	// pastEvery is how often it is looked for more.
	pastEvery = 500 * time.Millisecond
	// maxHeld bounds the files that are held open for viewers who are in them.
	maxHeld = 256
)

// A pastSegment is a part of a file.
type pastSegment struct {
	at, size int64
	start    time.Duration // in the file
	duration time.Duration
	wall     time.Time
}

// A cutting makes segments of fragments of a file.
type cutting struct {
	list []pastSegment // only appended to
	open pastSegment   // grows; without bytes there is none
}

// take takes the next fragment. least is how long a segment is.
func (c *cutting) take(one mp4.Fragment, least time.Duration) {
	length := one.Start - c.open.start
	if c.open.size > 0 && (one.Key && length >= least || length+one.Length > mostPast) {
		c.open.duration = length
		c.finish()
	}
	if c.open.size == 0 {
		c.open = pastSegment{at: one.At, start: one.Start, wall: one.Wall}
	}
	c.open.size += one.Size
	c.open.duration = one.Start + one.Length - c.open.start
}

// finish ends the segment that grows.
func (c *cutting) finish() {
	if c.open.size > 0 {
		c.list = append(c.list, c.open)
	}
	c.open = pastSegment{}
}

// A shelf is what is known of the recordings of one stream, once for all viewers who have gone
// back in it: what each of them has alone is small, whatever was recorded. Its files are open
// while they are read, but for those that viewers are in.
type shelf struct {
	server *Server
	stream string
	users  int // under the server's lock

	mu    sync.Mutex
	reels map[string]*reel // by file
}

// A reel is a file of a shelf, whose lock its fields are under. It is there while it has users:
// the viewers who begin in it, and the reel before it.
type reel struct {
	file  string // in the archive
	name  string // in addresses
	users int
	next  *reel // of the file that was recorded after it; nil: not known yet

	index  *mp4.Index // of what was read, without fragments; nil: there is no header yet
	cut    cutting
	whole  bool // no more will come
	looked time.Time
	asked  time.Time // for the next one

	gone    bool
	held    *os.File // while there are viewers in it: it may be deleted
	holders int
}

// Addresses of a reel's header, and of a segment: it begins with its place in the file.
func (r *reel) init() string { return r.name + "-init.mp4" }

// stampLen is the length of the time in the name of a file.
const stampLen = len("20060102-150405")

// lengthOf is how long the segments of a list are together, which follow each other.
func lengthOf(list []pastSegment) time.Duration {
	if len(list) == 0 {
		return 0
	}
	last := list[len(list)-1]
	return last.start + last.duration - list[0].start
}

// take returns a file's reel, for one more user. The lock is held.
func (s *shelf) take(file string) *reel {
	r := s.reels[file]
	if r == nil {
		r = &reel{file: file, name: strings.TrimSuffix(path.Base(file), ".mp4")}
		// What is behind the stream's name: the time, and perhaps a number.
		if i := len(r.name); i > stampLen {
			r.name = r.name[strings.LastIndexByte(r.name[:i-stampLen+9], '-')+1:]
		}
		s.reels[file] = r
	}
	r.users++
	return r
}

// drop ends the use of a reel. The lock is held.
func (s *shelf) drop(r *reel) {
	for ; r != nil; r = r.next {
		if r.users--; r.users > 0 {
			return
		}
		delete(s.reels, r.file)
	}
}

// isGone reports whether an error is that a file was deleted.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// read reads what there is of a file. The lock is held.
func (s *shelf) read(r *reel) {
	if r.whole || time.Since(r.looked) < pastEvery {
		return
	}
	r.looked = time.Now()
	f, rec, err := s.server.Tapes.Open(r.file)
	if err != nil { // nor will there be more when it was deleted, or may not be read
		if r.whole = isGone(err) || errors.Is(err, fs.ErrPermission); r.whole {
			r.cut.finish()
		}
		return
	}
	defer f.Close()
	// What is before a place that cannot be read counts.
	x := r.index
	if x == nil {
		x, _ = mp4.Scan(f, rec.Size)
	} else {
		x = x.Tail()
		_ = x.Extend(f, rec.Size)
	}
	for _, one := range x.Fragments {
		r.cut.take(one, leastPast)
	}
	if len(x.Header) > 0 {
		r.index = x.Tail()
	}
	if r.whole = !rec.Writing; r.whole {
		r.cut.finish()
	}
}

// follow returns the reel after one that is whole, nil when nothing was recorded since. more are
// the files after it, if they are known, and then those after the one that it returns. The lock is
// held.
func (s *shelf) follow(r *reel, more *[]string) *reel {
	if r.next == nil && len(*more) == 0 && time.Since(r.asked) >= pastEvery {
		r.asked = time.Now()
		*more = s.server.Tapes.After(s.stream, r.file)
	}
	if r.next == nil && len(*more) > 0 {
		r.next = s.take((*more)[0])
	}
	if r.next != nil && len(*more) > 0 {
		*more = (*more)[1:]
	}
	return r.next
}

// findGone looks which of the oldest files from a reel on were deleted. Who is in one has it to
// its end.
func (s *shelf) findGone(r *reel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; r != nil; r = r.next {
		if r.gone || r.held != nil || len(r.cut.list) == 0 {
			continue
		}
		f, _, err := s.server.Tapes.Open(r.file)
		if err == nil {
			f.Close()
		}
		if !isGone(err) {
			return // they are deleted in their order
		}
		r.gone = true
	}
}

// hold says that a viewer is in a file, and no more in the one before; nil is none. The lock is
// held.
func (s *shelf) hold(r, before *reel) {
	if before != nil && r != before {
		if before.holders--; before.holders == 0 && before.held != nil {
			before.held.Close()
			before.held = nil
			s.server.files.Add(-1)
		}
	}
	if r == nil {
		return
	}
	if r != before {
		r.holders++
	}
	if r.held != nil {
		return
	}
	if s.server.files.Add(1) <= maxHeld {
		if f, _, err := s.server.Tapes.Open(r.file); err == nil {
			r.held = f
			return
		}
	}
	s.server.files.Add(-1)
}

// findSegment returns the segment that begins at a place of a file.
func findSegment(list []pastSegment, at int64) (pastSegment, bool) {
	i, ok := slices.BinarySearchFunc(list, at, func(s pastSegment, at int64) int {
		return int(min(max(s.at-at, -1), 1))
	})
	if !ok {
		return pastSegment{}, false
	}
	return list[i], true
}
