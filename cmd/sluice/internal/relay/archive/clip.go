package archive

import (
	"fmt"
	"os"
	"path"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/mp4"
)

// A Clip is a part of a stream's recordings. The caller closes it.
type Clip struct {
	*mp4.Clip
	files []*os.File
}

// Close closes the files.
func (c *Clip) Close() {
	for _, f := range c.files {
		f.Close()
	}
}

// maxClipFiles is how many files a clip may be made of.
const maxClipFiles = 64

// Clip returns what was recorded of a stream from one time to another, of files in MP4.
// An error matches ErrNotFound when that is nothing.
func (a *Archive) Clip(stream string, from, to time.Time) (*Clip, error) {
	c := &Clip{}
	list, err := a.walk(stream, a.most)
	if err != nil {
		return nil, err
	}
	var files []mp4.File
	other := false
	for i := range list {
		r := &list[i]
		// A name has whole seconds.
		if r.changed.Before(from) && !r.Writing || r.Begin.Add(-time.Second).After(to) {
			continue
		}
		if path.Ext(r.File) != ".mp4" {
			other = true
			continue
		}
		if len(files) == maxClipFiles {
			break
		}
		f, info, err := a.open(r.File)
		if err != nil {
			continue // deleted meanwhile
		}
		x, err := a.index(r, f, info.Size())
		if err != nil {
			f.Close()
			continue // it has no header yet
		}
		c.files = append(c.files, f)
		files = append(files, mp4.File{ReaderAt: f, Index: x})
	}
	if c.Clip, err = mp4.NewClip(files, from, to); err != nil {
		c.Close()
		if other {
			return nil, fmt.Errorf("%w in MP4: clips are made with record-format mp4", ErrNotFound)
		}
		return nil, fmt.Errorf("%w: %s: %w", ErrNotFound, stream, err)
	}
	return c, nil
}
