package mp4

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"sort"
	"time"
)

const (
	// maxHeader bounds the front of a file: this package writes some 2 KB.
	maxHeader = 1 << 20
	// maxMoof bounds the table of a fragment: 64 Ki samples.
	maxMoof = 1 << 20
	// lookAt is how much is read where a fragment begins: the table of a second.
	lookAt = 4 << 10
	// MaxFragments bounds those of a file that are known: three weeks of seconds.
	MaxFragments = 1 << 21
)

// A Fragment says where one is in its file, and when.
type Fragment struct {
	At     int64 // of its first box
	Head   int   // bytes before those of the samples
	Size   int64 // bytes in all
	Wall   time.Time
	Start  time.Duration // in the file
	Length time.Duration
	Key    bool // it can be started at
}

// An Index is what a file has. Only whole fragments count.
type Index struct {
	Header    []byte // of the file, without a duration
	Fragments []Fragment
	End       int64 // behind the last one
	scales    map[uint32]uint32
	video     uint32        // id of the pictures' track; 0: none
	said      time.Duration // the duration in the header
}

// Scan reads the header of a file of size bytes and finds its fragments. An error
// matches ErrSyntax, or is the reader's: what was found before it counts.
func Scan(f io.ReaderAt, size int64) (*Index, error) {
	x := &Index{scales: map[uint32]uint32{}}
	if err := x.readHeader(f, size); err != nil {
		return x, err
	}
	return x, x.Extend(f, size)
}

// readHeader reads the boxes up to moov.
func (x *Index) readHeader(f io.ReaderAt, size int64) error {
	var head [boxHead]byte
	for at := int64(0); ; {
		if _, err := f.ReadAt(head[:], at); err != nil {
			return fmt.Errorf("%w: no header: %w", ErrSyntax, err)
		}
		kind, n, ok := box(head[:])
		if !ok || at+int64(n) > min(size, maxHeader) {
			return fmt.Errorf("%w: the header", ErrSyntax)
		}
		at += int64(n)
		if kind != "moov" {
			continue
		}
		x.Header, x.End = make([]byte, at), at
		if _, err := f.ReadAt(x.Header, 0); err != nil {
			return err
		}
		return x.readTracks(x.Header[at-int64(n)+boxHead:])
	}
}

func (x *Index) readTracks(moov []byte) error {
	for trak := range boxes(moov, "trak") {
		t, err := trackOf(trak)
		if err != nil {
			return err
		}
		x.scales[t.ID] = t.Scale
		if t.Video && x.video == 0 {
			x.video = t.ID
		}
	}
	if len(x.scales) == 0 {
		return fmt.Errorf("%w: a header without tracks", ErrSyntax)
	}
	// What the file says of its length is not true of parts of it.
	if at, ok := durationPlace(x.Header); ok {
		x.said = time.Duration(min(binary.BigEndian.Uint64(x.Header[at:]), 1<<50/1000)) * time.Millisecond
		clear(x.Header[at : at+8])
	}
	return nil
}

// durationPlace is where a header of this package has the duration.
func durationPlace(header []byte) (int, bool) {
	moov, ok := find(header, "moov")
	if !ok {
		return 0, false
	}
	mvex, ok := find(header[moov+boxHead:], "mvex")
	if !ok {
		return 0, false
	}
	at := moov + boxHead + mvex + boxHead
	kind, size, ok := box(header[at:])
	if !ok || kind != "mehd" || size != boxHead+12 || at+size > len(header) {
		return 0, false
	}
	return at + boxHead + 4, true
}

// Extend finds the fragments that the file has had since, now that it has size bytes.
func (x *Index) Extend(f io.ReaderAt, size int64) error {
	room := make([]byte, lookAt)
	for x.End < size {
		if len(x.Fragments) == MaxFragments {
			return fmt.Errorf("%w: more than %d fragments", ErrSyntax, MaxFragments)
		}
		one, _, err := x.read(f, x.End, size, &room)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil // it is being written, or was when the writer was killed
		}
		if err != nil {
			return err
		}
		x.Fragments = append(x.Fragments, one)
		x.End += one.Size
	}
	return nil
}

// read reads the fragment at a place of a file of size bytes. io.ErrUnexpectedEOF: the
// file ends inside it.
func (x *Index) read(f io.ReaderAt, at, size int64, room *[]byte) (one Fragment, runs []Run, err error) {
	p, err := readAt(f, at, min(size-at, lookAt), room)
	if err != nil {
		return one, nil, err
	}
	kind, prft, ok := box(p)
	if len(p) < prftLen+boxHead {
		return one, nil, io.ErrUnexpectedEOF
	}
	if !ok || kind != "prft" || prft != prftLen {
		return one, nil, fmt.Errorf("%w: no fragment at %d", ErrSyntax, at)
	}
	kind, moof, ok := box(p[prft:])
	if !ok || kind != "moof" || moof > maxMoof {
		return one, nil, fmt.Errorf("%w: no table of samples at %d", ErrSyntax, at+int64(prft))
	}
	head := prft + moof + boxHead
	if int64(head) > size-at {
		return one, nil, io.ErrUnexpectedEOF
	}
	if head > len(p) {
		if p, err = readAt(f, at, int64(head), room); err != nil {
			return one, nil, err
		}
	}
	kind, mdat, ok := box(p[prft+moof:])
	if !ok || kind != "mdat" {
		return one, nil, fmt.Errorf("%w: no samples at %d", ErrSyntax, at+int64(prft+moof))
	}
	one = Fragment{At: at, Head: head, Size: int64(prft) + int64(moof) + int64(mdat), Wall: wallOf(binary.BigEndian.Uint64(p[boxHead+8:]))}
	if one.Size > size-at {
		return one, nil, io.ErrUnexpectedEOF
	}
	if runs, err = parseRuns(p[prft:prft+moof], int64(mdat)-boxHead); err != nil {
		return one, nil, err
	}
	one.Start, one.Key = x.time(&runs[0], runs[0].Base), runs[0].Samples[0].Key && (x.video == 0 || runs[0].Track == x.video)
	one.Length = x.time(&runs[0], runs[0].Length())
	return one, runs, nil
}

func readAt(f io.ReaderAt, at, n int64, room *[]byte) ([]byte, error) {
	if int64(len(*room)) < n {
		*room = make([]byte, n)
	}
	p := (*room)[:n]
	if k, err := f.ReadAt(p, at); err != nil && !(err == io.EOF && int64(k) == n) {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return p, nil
}

// time converts ticks of a run's track; an unknown track has none.
func (x *Index) time(r *Run, ticks uint64) time.Duration {
	scale := uint64(x.scales[r.Track])
	if scale == 0 {
		return 0
	}
	return time.Duration(mulDiv(ticks, uint64(time.Second), scale))
}

// mulDiv is a*b/c, at most what a time.Duration holds.
func mulDiv(a, b, c uint64) uint64 {
	const most = 1<<63 - 1
	high, low := bits.Mul64(a, b)
	if high >= c {
		return most
	}
	q, _ := bits.Div64(high, low, c)
	return min(q, most)
}

// Begin and Length return when what is in the file began, and for how long it is.
func (x *Index) Begin() time.Time {
	if len(x.Fragments) == 0 {
		return time.Time{}
	}
	return x.Fragments[0].Wall
}

func (x *Index) Length() time.Duration {
	if len(x.Fragments) == 0 {
		return 0
	}
	last := x.Fragments[len(x.Fragments)-1]
	return last.Start + last.Length - x.Fragments[0].Start
}

// Runs reads the table of a fragment of the index.
func (x *Index) Runs(f io.ReaderAt, one Fragment) ([]Run, error) {
	var room []byte
	_, runs, err := x.read(f, one.At, one.At+one.Size, &room)
	return runs, err
}

// Clone returns an index that can be extended while the first one is read.
func (x *Index) Clone() *Index {
	y := *x
	y.Fragments = x.Fragments[:len(x.Fragments):len(x.Fragments)]
	return &y
}

// Tail returns an index of what the file will have behind this one's fragments, without
// them.
func (x *Index) Tail() *Index {
	y := *x
	y.Fragments = nil
	return &y
}

// From returns an index of what the file has from a place on where a fragment begins, without
// fragments.
func (x *Index) From(at int64) *Index {
	y := x.Tail()
	y.End = at
	return y
}

// Find returns the place of the fragment with a key frame at or before a time, else of
// the first one with a key frame; -1 when there is none, or the file ends before that
// time.
func (x *Index) Find(from time.Time) int {
	list := x.Fragments
	if len(list) == 0 || !list[len(list)-1].Wall.Add(list[len(list)-1].Length).After(from) {
		return -1
	}
	i := sort.Search(len(list), func(i int) bool { return list[i].Wall.After(from) }) - 1
	for ; i >= 0; i-- {
		if list[i].Key {
			return i
		}
	}
	return slices.IndexFunc(list, func(f Fragment) bool { return f.Key })
}

// Extent returns when a file of size bytes begins and how long it says that it is: 0
// when it has not ended in order. It reads no more than the front.
func Extent(f io.ReaderAt, size int64) (begin time.Time, length time.Duration, err error) {
	x := &Index{scales: map[uint32]uint32{}}
	if err := x.readHeader(f, size); err != nil {
		return begin, 0, err
	}
	room := make([]byte, lookAt)
	one, _, err := x.read(f, x.End, size, &room)
	if err != nil {
		return begin, 0, err
	}
	return one.Wall, x.said, nil
}
