package relay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/archive"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/recordings"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
)

// recorders are the server's recordings, by directory: streams may have different ones.
// They implement session's recorder, and are safe for concurrent use.
type recorders struct {
	options record.Options // without Dir
	of      func(stream string) *config.Config

	mu      sync.Mutex
	paths   map[string]string     // of the directories, by what the settings call them
	byPath  map[string]*recordDir // by path without symbolic links; they stay open, for files that end
	shown   []*recordDir          // what lists have: see show
	ordered map[string]bool       // streams whose recording the API has begun or ended
}

// A recordDir is a directory of recordings, and what writes and lists them.
type recordDir struct {
	path       string // without symbolic links
	files      *record.Recorder
	recordings *recordings.Recordings
	archive    *archive.Archive
}

// maxOrdered is how many streams' recordings can be begun or ended.
const maxOrdered = 10_000

var (
	errTooManyOrders = errors.New("too many streams are recorded, or not, by the API")
	errNoDirectory   = errors.New("there is no directory for this stream: see the setting record")
)

// want returns the path of the directory for a stream; "": it is not recorded. The lock is held.
func (r *recorders) want(stream string) string {
	c := r.of(stream)
	if on, ok := r.ordered[stream]; ok && !on || !ok && !c.RecordAll {
		return ""
	}
	return r.paths[c.Record]
}

// control begins or ends the recording of a stream, also in the process that takes this
// one's place, until the server ends or it is called again.
func (r *recorders) control(stream string, on bool, hub *live.Hub) error {
	if on && r.of(stream).Record == "" {
		return fmt.Errorf("%w: %w", session.ErrNotFound, errNoDirectory)
	}
	r.mu.Lock()
	if _, ok := r.ordered[stream]; !ok && len(r.ordered) == maxOrdered {
		r.mu.Unlock()
		return fmt.Errorf("%w: %d", errTooManyOrders, maxOrdered)
	}
	if r.ordered == nil {
		r.ordered = map[string]bool{}
	}
	r.ordered[stream] = on
	r.mu.Unlock()
	if st, ok := hub.Stream(stream); ok {
		r.refresh([]*live.Stream{st})
	}
	return nil
}

// orders returns what control was called with, by stream.
func (r *recorders) orders() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.ordered)
}

// resume takes over another process's orders, before any stream begins. Those above the
// limit are left out, with an error.
func (r *recorders) resume(orders map[string]bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for stream, on := range orders {
		if len(r.ordered) == maxOrdered {
			return fmt.Errorf("%w: %d", errTooManyOrders, maxOrdered)
		}
		if r.ordered == nil {
			r.ordered = map[string]bool{}
		}
		r.ordered[stream] = on
	}
	return nil
}

// all returns the archives of the directories that are shown.
func (r *recorders) all() []*archive.Archive {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*archive.Archive
	for _, d := range r.shown {
		list = append(list, d.archive)
	}
	return list
}

// prepare opens the directories of a configuration, which nothing uses until show is called.
func (r *recorders) prepare(c *config.Config) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var paths []string
	for _, v := range recordDirs(c) {
		path := r.paths[v.Text]
		if path == "" {
			var err error
			if path, err = resolved(v.Text); err != nil {
				return config.Fault(v.Place, "record", err)
			}
		}
		err := apart(path, paths)
		if err == nil {
			err = r.open(v.Text, path)
		}
		if err != nil {
			return config.Fault(v.Place, "record", err)
		}
		paths = append(paths, path)
	}
	return nil
}

// open opens a directory, unless it is open. The lock is held.
func (r *recorders) open(dir, path string) error {
	if r.byPath == nil {
		r.paths, r.byPath = map[string]string{}, map[string]*recordDir{}
	}
	if r.byPath[path] == nil {
		o := r.options
		o.Dir = dir
		files, err := record.New(o)
		if err != nil {
			return err
		}
		writing := func(file string) bool { return r.writing(filepath.Join(path, filepath.FromSlash(file))) }
		r.byPath[path] = &recordDir{path, files, recordings.New(files), archive.New(files.Root, writing)}
	}
	r.paths[dir] = path
	return nil
}

// show has lists show the directories of a configuration, which prepare has opened, and those
// of earlier ones that are apart from them.
func (r *recorders) show(c *config.Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var paths []string
	for _, v := range recordDirs(c) {
		paths = append(paths, r.paths[v.Text])
	}
	list := slices.DeleteFunc(slices.Clone(r.shown), func(d *recordDir) bool { return apart(d.path, paths) != nil })
	for _, path := range paths {
		if d := r.byPath[path]; !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	r.shown = list
}

// writing reports whether a file is being written: perhaps into a directory of an earlier
// configuration, in which the one that has it in its list lies.
func (r *recorders) writing(file string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for path, d := range r.byPath {
		if name, err := filepath.Rel(path, file); err == nil && d.files.Open(filepath.ToSlash(name)) {
			return true
		}
	}
	return false
}

// Begin implements session's recorder.
func (r *recorders) Begin(st *live.Stream) {
	r.mu.Lock()
	defer r.mu.Unlock() // to the end: a refresh in between would be undone
	if to := r.byPath[r.want(st.Name())]; to != nil {
		to.recordings.Begin(st)
	}
}

// goOn records an adopted stream, from where its recording in the predecessor leaves off.
func (r *recorders) goOn(st *live.Stream) {
	r.mu.Lock()
	to := r.byPath[r.want(st.Name())]
	r.mu.Unlock()
	if to != nil {
		to.recordings.Continue(st)
	}
}

// leave says that the successor records these streams from their newest key frames on.
func (r *recorders) leave(streams []*live.Stream) {
	for _, list := range r.list() {
		for _, st := range streams {
			list.Leave(st)
		}
	}
}

// refresh asks again for the directories of the streams. A recording goes on when its
// directory is still the same.
func (r *recorders) refresh(streams []*live.Stream) {
	for _, st := range streams {
		r.mu.Lock()
		want := r.want(st.Name())
		for path, d := range r.byPath {
			if path == want {
				d.recordings.Begin(st)
			} else {
				d.recordings.End(st)
			}
		}
		r.mu.Unlock()
	}
}

// list returns the recordings into all directories.
func (r *recorders) list() []*recordings.Recordings {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*recordings.Recordings
	for _, d := range r.byPath {
		list = append(list, d.recordings)
	}
	return list
}

// Close implements session's recorder.
func (r *recorders) Close(ctx context.Context) error {
	var errs []error
	for _, list := range r.list() {
		errs = append(errs, list.Close(ctx))
	}
	return errors.Join(errs...)
}
