package archive

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/mp4"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"
)

// ErrNothingYet: what was recorded has been read. More may come.
var ErrNothingYet = errors.New("nothing more was recorded yet")

// A Tape reads what was recorded of a stream from one time on, fragment by fragment and
// file by file, of files in MP4, also of one that is being written. It holds one file
// open, so that a file that is deleted meanwhile is read to its end. It is not safe for
// concurrent use.
type Tape struct {
	archive *Archive
	stream  string
	film    *Film
	file    string // the latest film's, also when it has been read
	index   *mp4.Index
	next    int // fragment of the index
}

// A Film is one file of a Tape.
type Film struct {
	File   string // its path in the directory, with slashes
	Header []byte // of the file; read-only
	Index  *mp4.Index
	f      *os.File
}

// ReadAt reads the file while it is the Tape's latest.
func (f *Film) ReadAt(p []byte, at int64) (int, error) { return f.f.ReadAt(p, at) }

// Tape returns a tape that begins with the key frame at or before a time, or the first
// one after it when nothing was recorded then. The caller closes it. An error matches
// ErrNotFound.
func (a *Archive) Tape(stream string, from time.Time) (*Tape, error) {
	list, err := a.films(stream)
	if err != nil {
		return nil, err
	}
	// Names have whole seconds, and a file may be of any length: the last one that began
	// before may have the time.
	begin := 0
	for i := range list {
		if !list[i].began.After(from) {
			begin = i
		}
	}
	if begin > 0 && from.Sub(list[begin].began) < time.Second {
		begin-- // the name is of the second's beginning
	}
	t := &Tape{archive: a, stream: stream}
	for _, one := range list[begin:] {
		if !t.open(one.file) {
			continue
		}
		if i := t.index.Find(from); i >= 0 {
			t.next = i
			return t, nil
		}
	}
	t.Close()
	return nil, fmt.Errorf("%w in MP4: nothing of %s since %s", ErrNotFound, stream, from.UTC().Format(time.RFC3339))
}

// Next returns the next fragment, and the film that it is in, another one than before
// when another file begins. The error is ErrNothingYet at the end.
func (t *Tape) Next() (*Film, mp4.Fragment, error) {
	for {
		if t.next < len(t.index.Fragments) {
			one := t.index.Fragments[t.next]
			t.next++
			return t.film, one, nil
		}
		// In this order: what was written before it ended is seen.
		writing := t.archive.writing(t.file)
		if t.grow() {
			continue
		}
		if writing || !t.follow() {
			return nil, mp4.Fragment{}, ErrNothingYet
		}
	}
}

// Soon returns the header of the file after the latest, nil when there is none yet that began before a time.
func (t *Tape) Soon(before time.Time) []byte {
	list, err := t.archive.films(t.stream)
	if err != nil {
		return nil
	}
	_, began, _ := record.StreamOf(t.file)
	for _, one := range list {
		if one.compare(film{t.file, began}) <= 0 {
			continue
		}
		next := Tape{archive: t.archive}
		if !one.began.Before(before) || !next.open(one.file) {
			return nil
		}
		next.Close()
		return next.film.Header
	}
	return nil
}

// Writing reports whether the latest file is being written.
func (t *Tape) Writing() bool { return t.archive.writing(t.file) }

// grow looks for more fragments in the file.
func (t *Tape) grow() bool {
	info, err := t.film.f.Stat()
	if err != nil || info.Size() <= t.index.End {
		return false
	}
	// Not all fragments are kept: a file may have many, and each reader grows alone.
	more := t.index.Tail()
	if more.Extend(t.film.f, info.Size()); len(more.Fragments) == 0 {
		return false
	}
	t.index, t.next = more, 0
	return true
}

// follow opens the file after this one.
func (t *Tape) follow() bool {
	list, err := t.archive.films(t.stream)
	if err != nil {
		return false
	}
	_, began, _ := record.StreamOf(t.file)
	at := film{t.file, began}
	for _, one := range list {
		if one.compare(at) > 0 && t.open(one.file) {
			return true
		}
		// One that is being written has no header yet.
		if one.compare(at) > 0 && t.archive.writing(one.file) {
			return false
		}
	}
	return false
}

// open makes a file the tape's latest, at its beginning.
func (t *Tape) open(file string) bool {
	f, info, err := t.archive.open(file)
	if err != nil {
		return false
	}
	r := &Recording{File: file, changed: info.ModTime()}
	x, err := t.archive.index(r, f, info.Size())
	if err != nil || len(x.Fragments) == 0 {
		f.Close()
		return false
	}
	t.Close()
	t.file, t.index, t.next = file, x, 0
	t.film = &Film{File: file, Header: x.Header, Index: x, f: f}
	return true
}

// Close closes the file.
func (t *Tape) Close() {
	if t.film != nil {
		t.film.f.Close()
	}
}

// film is a file's name and what it says.
type film struct {
	file  string
	began time.Time
}

// compare orders the films of a stream: of one second, those with a number behind.
func (f film) compare(o film) int {
	return cmp.Or(f.began.Compare(o.began), cmp.Compare(len(f.file), len(o.file)), cmp.Compare(f.file, o.file))
}

// films returns the files of a stream in MP4, the oldest first.
func (a *Archive) films(stream string) ([]film, error) {
	list, err := a.directory(record.Directory(stream))
	return list[stream], err
}

// maxListings bounds the directories that are remembered.
const maxListings = 1000

// listing is what a directory had at a time: films by stream.
type listing struct {
	at    time.Time
	films map[string][]film
	info  fs.FileInfo   // of the directory, from before it was read; nil: not known
	read  time.Duration // when that was, as elapsed has it
}

const (
	// settled is for how long a directory has not changed when its list is used again: one that changes
	// twice within the steps of a file system's clock looks as it did.
	settled = 2 * time.Second
	// readAgain is after how long it is read all the same.
	readAgain = time.Minute
)

// holds reports whether a directory still has what was listed, when it is as info says.
func (l *listing) holds(info fs.FileInfo, elapsed time.Duration) bool {
	return l.info != nil && info != nil && elapsed-l.read < readAgain && os.SameFile(l.info, info) &&
		info.ModTime().Equal(l.info.ModTime()) && l.at.Sub(info.ModTime()) >= settled
}

// unchanged returns what a directory had, if that is what it has now.
func (a *Archive) unchanged(dir string, info fs.FileInfo, now time.Time, elapsed time.Duration) (map[string][]film, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	have, ok := a.listings[dir]
	if !ok || !have.holds(info, elapsed) {
		return nil, false
	}
	have.at = now
	a.listings[dir] = have
	return have.films, true
}

// directory lists a directory's films by stream. The map is read-only. What has not changed is not read
// again: 10,000 files take 0.1 s of a processor, and each viewer who goes back asks.
func (a *Archive) directory(dir string) (map[string][]film, error) {
	now, elapsed := a.now(), a.elapsed()
	info, err := a.root().Stat(filepath.FromSlash(dir))
	if err != nil {
		info = nil
	}
	if films, ok := a.unchanged(dir, info, now, elapsed); ok {
		return films, nil
	}
	entries, err := fs.ReadDir(a.root().FS(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil && len(entries) > maxFiles {
		err = fmt.Errorf("archive: more than %d files in %s", maxFiles, dir)
	}
	if err != nil {
		return nil, err
	}
	have := listing{now, map[string][]film{}, info, elapsed}
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".mp4") {
			continue
		}
		file := path.Join(dir, e.Name())
		if of, began, ok := record.StreamOf(file); ok {
			have.films[of] = append(have.films[of], film{file, began})
		}
	}
	for _, list := range have.films {
		slices.SortFunc(list, film.compare)
	}
	a.mu.Lock()
	if len(a.listings) >= maxListings {
		clear(a.listings)
	}
	a.listings[dir] = have
	a.mu.Unlock()
	return have.films, nil
}

// Tape returns the tape of the first archive that has something of it.
func (u Union) Tape(stream string, from time.Time) (*Tape, error) {
	err := fmt.Errorf("%w of %s", ErrNotFound, stream)
	for _, a := range u() {
		t, e := a.Tape(stream, from)
		if e == nil {
			return t, nil
		}
		err = e
	}
	return nil, err
}

// After returns the files in MP4 of a stream, in all archives, that began after one of them, the
// oldest first.
func (u Union) After(stream, file string) (files []string) {
	var all []film
	for _, a := range u() {
		list, err := a.films(stream)
		if err == nil {
			all = append(all, list...)
		}
	}
	slices.SortFunc(all, film.compare)
	_, began, _ := record.StreamOf(file)
	for _, one := range all {
		if one.compare(film{file, began}) > 0 {
			files = append(files, one.file)
		}
	}
	return files
}

// Since returns the oldest time of all archives.
func (u Union) Since(stream string) (oldest time.Time, ok bool) {
	for _, a := range u() {
		if at, there := a.Since(stream); there && (!ok || at.Before(oldest)) {
			oldest, ok = at, true
		}
	}
	return oldest, ok
}
