package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Source is what a recording reads a stream from.
type Source interface {
	// Next returns whole FLV tags, each with its trailing size, borrowed until
	// the next call; the header of an FLV file may come before the first. dropped
	// is how many tags before them were skipped because the reader had fallen
	// behind. It waits for a tag until ctx is done. io.EOF means the end of the
	// stream.
	Next(ctx context.Context) (tags []byte, dropped int, err error)
}

// Continued is a Source whose stream another process may record on.
type Continued interface {
	// Continued reports, after the end, whether that begins with the newest key frame:
	// then the file ends before it, if it has something before it.
	Continued() bool
}

// continued is why a file ends then.
const continued = "another process records on, from the newest key frame"

func isContinued(src Source, end error) bool {
	c, ok := src.(Continued)
	return ok && errors.Is(end, io.EOF) && c.Continued()
}

// File is what a recording is written to; *os.File is one.
type File interface {
	io.Writer
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// Options configures a Recorder.
type Options struct {
	// Dir is the directory of the files. It is created if it does not exist.
	Dir string
	// Format is that of the files, FLV unless given.
	Format Format
	// Segment is how long a file may be: the next one begins at a key frame. 0 is no
	// limit.
	Segment time.Duration
	// Sync is how often a file is synced to the disk while it is written. It is
	// also synced at its end. 0 leaves syncing to the system.
	Sync time.Duration
	// Index makes files begin with their own metadata, which includes the
	// stream's properties. When a file ends, its key frames, duration and size
	// are written there, for players to seek. It takes 16 KiB.
	Index bool
	// Began and Ended, if they are not nil, are called when a file has begun and
	// when it has ended: with its name below Dir, its bytes, the length of what is
	// in it, and why it ended. They must not wait.
	Began func(stream, file string)
	Ended func(stream, file string, bytes int64, length time.Duration, why string)
	// Logger logs files that begin, end and fail; nil is slog.Default().
	Logger *slog.Logger
	Now    func() time.Time // of tests; nil: time.Now
}

// A Format is how a stream is written.
type Format string

const (
	FLV Format = "flv"
	// MP4 is fragmented: see package mp4.
	MP4 Format = "mp4"
)

// Stats are a Recorder's figures since it was made.
type Stats struct {
	Active  int64 // streams that are recorded now
	Files   int64 // files that were begun
	Bytes   int64 // bytes written
	Dropped int64 // frames that were skipped because the disk was too slow
	Failed  int64 // recordings that an error ended
}

const (
	// maxSpan is how long a file may last, so that 32-bit times cannot wrap.
	maxSpan = 24 * 24 * time.Hour
	// keepAt is the largest buffer that is reused for the next write: one tag may
	// have 16 MiB.
	keepAt = 1 << 20
)

// Recorder writes streams into files of one directory, and never outside it:
// unsafe characters in names are replaced, and symbolic links that lead out are
// not followed. Files are created, never overwritten.
type Recorder struct {
	options Options
	root    atomic.Pointer[os.Root]
	log     *slog.Logger
	create  func(name string) (File, error)
	now     func() time.Time
	stepped func(before, after time.Time) time.Duration

	active, files, bytes, dropped, failed atomic.Int64

	creating sync.Mutex // by one at a time, for as long as the disk takes

	mu   sync.Mutex          // never held while the disk is waited for: publishers wait for those who ask what is open
	open map[string]struct{} // the files that are being written
}

// New creates the directory if it does not exist, and returns a recorder, which
// the caller closes. It is an error that files may not be created there.
func New(o Options) (*Recorder, error) {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	f, err := os.CreateTemp(o.Dir, ".writable-*")
	switch {
	case err == nil:
		f.Close()
		os.Remove(f.Name())
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS): // unlike a full disk, of which some may be freed
		return nil, fmt.Errorf("record: %w", err)
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Recorder{options: o, log: cmp.Or(o.Logger, slog.Default()), now: o.Now, stepped: stepped, open: map[string]struct{}{}}
	r.root.Store(root)
	r.create = r.createFile
	return r, nil
}

// createFile creates a new file and its directories.
func (r *Recorder) createFile(name string) (File, error) {
	r.creating.Lock()
	defer r.creating.Unlock()
	if err := r.reopen(); err != nil {
		return nil, err
	}
	root := r.root.Load()
	name = filepath.FromSlash(name)
	// An archive, perhaps of another process, removes directories that are empty: one may be gone
	// again by now, or come again while it is made.
	for try := 0; ; try++ {
		dir := filepath.Dir(name)
		err := root.MkdirAll(dir, 0o755)
		again := errors.Is(err, fs.ErrNotExist)
		if errors.Is(err, fs.ErrExist) {
			again = true
			if at, _ := root.Stat(dir); at != nil && !at.IsDir() {
				return nil, &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
			}
		}
		if err == nil {
			var f *os.File
			if f, err = root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err == nil {
				return f, nil
			}
			again = errors.Is(err, fs.ErrNotExist)
		}
		if !again || try == maxTries {
			return nil, err
		}
	}
}

// reopen opens the directory again when another one has its name by now: it was deleted or moved
// away, or a disk was mounted there. The lock for creating is held.
func (r *Recorder) reopen() error {
	before := r.root.Load()
	here, err := before.Stat(".")
	if errors.Is(err, os.ErrClosed) {
		return err
	}
	named, wrong := os.Stat(r.options.Dir)
	if wrong == nil && err == nil && os.SameFile(here, named) {
		return nil
	}
	if err := os.MkdirAll(r.options.Dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(r.options.Dir)
	if err != nil {
		return err
	}
	r.log.Warn("the directory of recordings is another one than before", "directory", r.options.Dir)
	r.root.Store(root)
	return before.Close()
}

// begin creates a stream's next file.
func (r *Recorder) begin(stream string, log *slog.Logger) (file, error) {
	extension := ".flv"
	if r.options.Format == MP4 {
		extension = ".mp4"
	}
	name, f, err := createNew(stream, extension, r.now(), r.createOpen)
	if err != nil {
		return file{}, err
	}
	r.files.Add(1)
	log.Info("recording", "file", name)
	if began := r.options.Began; began != nil {
		began(stream, name)
	}
	return file{recorder: r, name: name, f: f, synced: r.now()}, nil
}

// createOpen creates a file that Open knows: once it is there, it must not look like one that has ended.
func (r *Recorder) createOpen(name string) (File, error) {
	r.mu.Lock()
	_, taken := r.open[name]
	if !taken {
		r.open[name] = struct{}{}
	}
	r.mu.Unlock()
	if taken {
		return nil, fs.ErrExist
	}
	f, err := r.create(name)
	if err != nil {
		r.forget(name)
	}
	return f, err
}

// forget says that a file is no longer being written.
func (r *Recorder) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, name)
}

// createNew calls create with the possible file names of a stream until one is
// free. It returns that name.
func createNew(stream, extension string, now time.Time, create func(name string) (File, error)) (string, File, error) {
	stem := base(stream) + "-" + stampOf(now, time.Local)
	name := stem + extension
	for try := 2; ; try++ {
		f, err := create(name)
		if err == nil {
			return name, f, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", nil, err
		}
		if try > maxTries {
			return "", nil, fmt.Errorf("%d files of one second: %w", maxTries, err)
		}
		name = fmt.Sprintf("%s-%d%s", stem, try, extension)
	}
}

// ended reports that a file has ended. One in which nothing could be written is removed.
func (r *Recorder) ended(stream, name string, size int64, length time.Duration, why string, log *slog.Logger) {
	if size == 0 {
		if err := r.root.Load().Remove(filepath.FromSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			log.Warn("an empty recording stays", "file", name, "error", err)
		}
	}
	r.forget(name)
	log.Info("recorded", "file", name, "bytes", size, "ms", length.Milliseconds(), "why", why)
	if ended := r.options.Ended; ended != nil {
		ended(stream, name, size, length, why)
	}
}

// Open reports whether a file, by its name below Dir, is being written.
func (r *Recorder) Open(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.open[name]
	return ok
}

// Root returns the directory of the files. It is closed by Close, and when a file begins in another
// one of that name.
func (r *Recorder) Root() *os.Root { return r.root.Load() }

// Stats returns the recorder's figures.
func (r *Recorder) Stats() Stats {
	return Stats{
		Active:  r.active.Load(),
		Files:   r.files.Load(),
		Bytes:   r.bytes.Load(),
		Dropped: r.dropped.Load(),
		Failed:  r.failed.Load(),
	}
}

// Close closes the directory. Running recordings can begin no further file.
func (r *Recorder) Close() error { return r.root.Load().Close() }

// full reports whether a file that is this long has to end at the next key frame.
func (r *Recorder) full(length time.Duration) bool {
	return length > maxSpan || r.options.Segment > 0 && length >= r.options.Segment
}

// stepped returns by how much the clock was set between two times that were read from it.
func stepped(before, after time.Time) time.Duration {
	return after.Round(0).Sub(before.Round(0)) - after.Sub(before)
}
