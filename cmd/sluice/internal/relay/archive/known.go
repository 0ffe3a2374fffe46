package archive

import (
	"os"
	"path"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/mp4"
)

// maxKnown is how many files are remembered.
const maxKnown = 4096

// maxKnownFragments is how many fragments of all of them are: some 100 MB.
const maxKnownFragments = 1_000_000

// known is what was read from a file.
type known struct {
	size    int64
	changed time.Time
	begin   time.Time
	length  time.Duration
	index   *mp4.Index // nil when only begin and length are known
	used    time.Time
}

func (a *Archive) forget(file string) {
	a.mu.Lock()
	delete(a.known, file)
	a.mu.Unlock()
}

// look fills in when a recording begins and how long it is. What cannot be read keeps
// what the name says.
func (a *Archive) look(r *Recording) {
	a.mu.Lock()
	k := a.known[r.File]
	a.mu.Unlock()
	if k == nil || k.size != r.Size || !k.changed.Equal(r.changed) {
		f, info, err := a.open(r.File)
		if err != nil {
			return
		}
		defer f.Close()
		if k, err = a.read(r, f, info.Size()); err != nil {
			return
		}
	}
	if !k.begin.IsZero() {
		r.Begin = k.begin
	}
	r.Length = k.length
}

// read reads when a file begins and how long it is, and remembers it.
func (a *Archive) read(r *Recording, f *os.File, size int64) (*known, error) {
	k := &known{size: r.Size, changed: r.changed}
	if path.Ext(r.File) == ".flv" {
		k.begin = r.Begin
		if k.length = flvLength(f); k.length == 0 { // it is being written, or did not end in order
			var ok bool
			if k.length, ok = flvLast(f, size); !ok {
				k.length = max(r.changed.Sub(r.Begin), 0)
			}
		}
		a.remember(r.File, k)
		return k, nil
	}
	begin, length, err := mp4.Extent(f, size)
	if err != nil {
		return nil, err
	}
	if length == 0 { // it is being written, or did not end in order
		x, err := a.index(r, f, size)
		if err != nil {
			return nil, err
		}
		begin, length = x.Begin(), x.Length()
		k.index = x
	}
	k.begin, k.length = begin, length
	a.remember(r.File, k)
	return k, nil
}

// index returns the index of an MP4 file, which is not changed any more.
func (a *Archive) index(r *Recording, f *os.File, size int64) (*mp4.Index, error) {
	a.mu.Lock()
	before := a.known[r.File]
	a.mu.Unlock()
	var x *mp4.Index
	var err error
	switch {
	case before == nil || before.index == nil || before.size > size:
		x, err = mp4.Scan(f, size)
	case before.size == size && before.changed.Equal(r.changed):
		x = before.index
	default: // it has grown
		x = before.index.Clone()
		err = x.Extend(f, size)
	}
	// What is before a place that cannot be read counts.
	if err != nil && len(x.Fragments) == 0 {
		return nil, err
	}
	a.remember(r.File, &known{size: size, changed: r.changed, begin: x.Begin(), length: x.Length(), index: x})
	return x, nil
}

// remember keeps what is known of a file, and lets go of what was not used for longest.
func (a *Archive) remember(file string, k *known) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k.used = a.now()
	a.known[file] = k
	for {
		fragments, oldest := 0, ""
		for name, o := range a.known {
			if o.index != nil {
				fragments += len(o.index.Fragments)
			}
			if name != file && (oldest == "" || o.used.Before(a.known[oldest].used)) {
				oldest = name
			}
		}
		if oldest == "" || len(a.known) <= maxKnown && fragments <= maxKnownFragments {
			return
		}
		delete(a.known, oldest)
	}
}
