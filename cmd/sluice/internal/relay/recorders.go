package relay

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/recordings"
	"github.com/sluice-go/sluice/live"
)

// recorders are the server's recordings, by directory: streams may have different ones.
// They implement session's recorder, and are safe for concurrent use.
type recorders struct {
	options record.Options             // without Dir
	of      func(stream string) string // the directory for a stream; "": it is not recorded

	mu    sync.Mutex
	byDir map[string]*recordings.Recordings
}

// prepare opens the directories of a configuration.
func (r *recorders) prepare(c *config.Config) error {
	dirs := []string{c.Record}
	for _, s := range c.Sections() {
		for _, v := range s.Values {
			if v.Name == "record" {
				dirs = append(dirs, v.Text)
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, dir := range dirs {
		if dir == "" || r.byDir[dir] != nil {
			continue
		}
		o := r.options
		o.Dir = dir
		files, err := record.New(o)
		if err != nil {
			return err
		}
		if r.byDir == nil {
			r.byDir = map[string]*recordings.Recordings{}
		}
		r.byDir[dir] = recordings.New(files)
	}
	return nil
}

// Begin implements session's recorder.
func (r *recorders) Begin(st *live.Stream) {
	r.mu.Lock()
	to := r.byDir[r.of(st.Name())]
	r.mu.Unlock()
	if to != nil {
		to.Begin(st)
	}
}

// refresh asks again for the directories of the streams. A recording goes on when its
// directory is still the same.
func (r *recorders) refresh(streams []*live.Stream) {
	r.mu.Lock()
	byDir := maps.Clone(r.byDir)
	r.mu.Unlock()
	for _, st := range streams {
		want := r.of(st.Name())
		for dir, list := range byDir {
			if dir == want {
				list.Begin(st)
			} else {
				list.End(st)
			}
		}
	}
}

// list returns the recordings into all directories.
func (r *recorders) list() []*recordings.Recordings {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.byDir))
}

// Close implements session's recorder.
func (r *recorders) Close(ctx context.Context) error {
	var errs []error
	for _, list := range r.list() {
		errs = append(errs, list.Close(ctx))
	}
	return errors.Join(errs...)
}
