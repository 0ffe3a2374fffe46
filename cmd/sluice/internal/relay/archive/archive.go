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
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"
)

// Errors that callers match with errors.Is.
var (
	// ErrNotFound: there is no such recording.
	ErrNotFound = errors.New("there is no such recording")
	// ErrWriting: the file is being written.
	ErrWriting = errors.New("it is being written")
)

// maxFiles bounds the files that are looked at to answer one request.
const maxFiles = 200_000

// A Recording is one file.
type Recording struct {
	File    string        `json:"file"` // its path in the directory, with slashes
	Stream  string        `json:"stream"`
	Begin   time.Time     `json:"begin"`
	Length  time.Duration `json:"-"`
	Size    int64         `json:"size"`
	Writing bool          `json:"writing"`

	changed time.Time
}

// An Archive is the files of a recorder.
type Archive struct {
	root    func() *os.Root // the directory, as it is now
	writing func(file string) bool
	now     func() time.Time
	elapsed func() time.Duration // since New: setting the clock does not change it
	most    int                  // files that a list may have

	sweeping sync.Mutex
	ages     ages

	mu       sync.Mutex
	known    map[string]*known  // by file
	listings map[string]listing // by directory
	looks    map[string]look    // of Since, by directory
}

// New returns the archive of a directory, which root returns. writing reports whether a file in it
// is being written.
func New(root func() *os.Root, writing func(file string) bool) *Archive {
	began := time.Now()
	return &Archive{root: root, writing: writing, now: time.Now, elapsed: func() time.Duration { return time.Since(began) }, most: maxFiles, known: map[string]*known{}, listings: map[string]listing{}, looks: map[string]look{}}
}

// walk returns the files, the oldest first, with what their names and the directory say.
// stream limits them to one stream's, unless it is empty. With more than most files to look at
// it is an error.
func (a *Archive) walk(stream string, most int) ([]Recording, error) {
	var list []Recording
	seen, top := 0, "."
	if stream != "" {
		top = record.Directory(stream)
	}
	err := fs.WalkDir(a.root().FS(), top, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && stream != "" && name != top {
			return fs.SkipDir
		}
		if err != nil || !d.Type().IsRegular() {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				return nil // deleted meanwhile, or not ours
			}
			return err
		}
		if seen++; seen > most {
			return fmt.Errorf("archive: more than %d files", most)
		}
		of, began, ok := record.StreamOf(name)
		if !ok || stream != "" && of != stream {
			return nil
		}
		info, err := d.Info()
		writing := a.writing(name)
		// What the directory says of a file may be older than the file's end.
		if err == nil && !writing && a.now().Sub(info.ModTime()) < time.Hour {
			info, err = a.root().Lstat(filepath.FromSlash(name))
		}
		if err != nil {
			return nil // deleted meanwhile
		}
		list = append(list, Recording{File: name, Stream: of, Begin: began, Size: info.Size(), changed: info.ModTime(), Writing: writing})
		return nil
	})
	slices.SortFunc(list, func(x, y Recording) int {
		return cmp.Or(x.Begin.Compare(y.Begin), x.changed.Compare(y.changed), cmp.Compare(x.File, y.File))
	})
	return list, err
}

// List returns the newest recordings, at most so many, the newest first, and how many
// there are. stream limits them to one stream's, unless it is empty.
func (a *Archive) List(stream string, most int) (list []Recording, all int, err error) {
	list, err = a.walk(stream, a.most)
	if err != nil {
		return nil, 0, err
	}
	all = len(list)
	slices.Reverse(list)
	list = list[:min(most, len(list))]
	for i := range list {
		a.look(&list[i])
	}
	return list, all, nil
}

// Stream returns the stream that a recording would be of by its path, whether there is one
// or not. An error matches ErrNotFound.
func Stream(file string) (string, error) {
	stream, _, ok := record.StreamOf(file)
	if !ok {
		return "", fmt.Errorf("%w: %.200q", ErrNotFound, file)
	}
	return stream, nil
}

// Open opens a recording by its path in the directory. The caller closes it. An error
// matches ErrNotFound.
func (a *Archive) Open(file string) (*os.File, Recording, error) {
	stream, began, ok := record.StreamOf(file)
	if !ok {
		return nil, Recording{}, fmt.Errorf("%w: %.200q", ErrNotFound, file)
	}
	writing := a.writing(file)
	f, info, err := a.open(file)
	if err != nil {
		return nil, Recording{}, fmt.Errorf("%w: %s: %w", ErrNotFound, file, err)
	}
	// It may have ended since it was open, and it may have begun.
	r := Recording{File: file, Stream: stream, Begin: began, Size: info.Size(), changed: info.ModTime(), Writing: writing || a.writing(file)}
	return f, r, nil
}

// open opens a regular file.
func (a *Archive) open(file string) (*os.File, fs.FileInfo, error) {
	name := filepath.FromSlash(file)
	info, err := a.root().Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a file")
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := a.root().Open(name)
	if err != nil {
		return nil, nil, err
	}
	now, err := f.Stat()
	if err == nil && !os.SameFile(info, now) {
		err = errors.New("it was replaced meanwhile")
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, now, nil
}

// Delete deletes a recording that has ended, and directories that are empty then. An error matches ErrNotFound or ErrWriting.
func (a *Archive) Delete(file string) error {
	if _, _, ok := record.StreamOf(file); !ok {
		return fmt.Errorf("%w: %.200q", ErrNotFound, file)
	}
	if a.writing(file) {
		return fmt.Errorf("%s: %w", file, ErrWriting)
	}
	info, err := a.root().Lstat(filepath.FromSlash(file))
	if err != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s", ErrNotFound, file)
	}
	a.forget(file)
	if err := a.root().Remove(filepath.FromSlash(file)); err != nil {
		return err
	}
	// And the directories that had nothing else, in which a file may begin at this moment: a
	// recorder makes them again then.
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		info, err := a.root().Lstat(filepath.FromSlash(dir))
		if err != nil || !info.IsDir() || a.root().Remove(filepath.FromSlash(dir)) != nil {
			break
		}
	}
	return nil
}
