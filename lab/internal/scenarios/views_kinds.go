package scenarios

import (
	"bufio"
	"bytes"
	"io"
	"strings"

	"github.com/sluice-go/sluice"
)

// viewKinds are the kinds of readers, from bytes in hand to files.
var viewKinds = []viewKind{
	{"bytes", "a slice in hand", []viewWay{
		{"copy", "io.ReadFull from a bytes.Reader into one buffer", func(x *viewed) (lap, error) {
			r := new(bytes.Reader)
			return lap{func() error { r.Reset(x.s.ring); return nil }, newFullRecords(r)}, nil
		}},
		{"by-hand", "slices of the slice", func(x *viewed) (lap, error) {
			w := &sliceRecords{}
			return lap{func() error { w.rest = x.s.ring; return nil }, w}, nil
		}},
		{"sluice", "our NewBufReaderBytes: a view", func(x *viewed) (lap, error) {
			w := &nextRecords{size: viewRecord}
			return lap{func() error { w.r = sluice.NewBufReaderBytes(x.s.ring); return nil }, w}, nil
		}},
	}},
	{"bytes.Reader", "a bytes.Reader", []viewWay{
		{"copy", "io.ReadFull into one buffer", func(x *viewed) (lap, error) {
			r := new(bytes.Reader)
			return lap{func() error { r.Reset(x.s.ring); return nil }, newFullRecords(r)}, nil
		}},
		{"by-hand", "WriteTo, which shows a Writer the slice itself: a view", func(x *viewed) (lap, error) {
			r, w := new(bytes.Reader), &sliceRecords{}
			return lap{func() error {
				r.Reset(x.s.ring)
				return w.capture(r)
			}, w}, nil
		}},
		{"sluice", "our BufReader: a copy into its block", func(x *viewed) (lap, error) {
			r, w := new(bytes.Reader), newNextRecords()
			return lap{func() error {
				r.Reset(x.s.ring)
				w.r.Reset(r)
				return nil
			}, w}, nil
		}},
	}},
	{"strings.Reader", "a strings.Reader", []viewWay{
		{"copy", "io.ReadFull into one buffer", func(x *viewed) (lap, error) {
			text, r := string(x.s.ring), new(strings.Reader)
			return lap{func() error { r.Reset(text); return nil }, newFullRecords(r)}, nil
		}},
		{"by-hand", "WriteTo, which shows a StringWriter the string itself: a view, as a string", func(x *viewed) (lap, error) {
			text, r, w := string(x.s.ring), new(strings.Reader), &stringRecords{}
			return lap{func() error {
				r.Reset(text)
				_, err := r.WriteTo(w)
				return err
			}, w}, nil
		}},
		{"sluice", "our BufReader: a copy into its block", func(x *viewed) (lap, error) {
			text, r, w := string(x.s.ring), new(strings.Reader), newNextRecords()
			return lap{func() error {
				r.Reset(text)
				w.r.Reset(r)
				return nil
			}, w}, nil
		}},
	}},
	{"bufio", "a bufio.Reader of 64 KiB over a bytes.Reader", []viewWay{
		{"copy", "io.ReadFull into one buffer", func(x *viewed) (lap, error) {
			r, b := new(bytes.Reader), bufio.NewReaderSize(nil, 64<<10)
			return lap{rewind(x, r, b), newFullRecords(b)}, nil
		}},
		{"by-hand", "Peek and Discard: a view of its buffer", func(x *viewed) (lap, error) {
			r, b := new(bytes.Reader), bufio.NewReaderSize(nil, 64<<10)
			return lap{rewind(x, r, b), &peekRecords{b, viewRecord}}, nil
		}},
		{"sluice", "our BufReader over it: a second copy", func(x *viewed) (lap, error) {
			r, b, w := new(bytes.Reader), bufio.NewReaderSize(nil, 64<<10), newNextRecords()
			start := rewind(x, r, b)
			return lap{func() error {
				err := start()
				w.r.Reset(b)
				return err
			}, w}, nil
		}},
	}},
	{"composed", "an io.MultiReader of two bytes.Readers", []viewWay{
		{"copy", "io.ReadFull into one buffer", func(x *viewed) (lap, error) {
			r := new(swapReader)
			return lap{func() error { r.r = halves(x.s.ring); return nil }, newFullRecords(r)}, nil
		}},
		{"by-hand", "WriteTo, which shows a Writer the slices themselves: views", func(x *viewed) (lap, error) {
			w := &sliceRecords{}
			return lap{func() error { return w.capture(halves(x.s.ring).(io.WriterTo)) }, w}, nil
		}},
		{"sluice", "our BufReader: a copy into its block", func(x *viewed) (lap, error) {
			w := newNextRecords()
			return lap{func() error { w.r.Reset(halves(x.s.ring)); return nil }, w}, nil
		}},
	}},
	{"limited", "an io.LimitedReader over a bytes.Reader", []viewWay{
		{"copy", "io.ReadFull into one buffer", func(x *viewed) (lap, error) {
			r := new(swapReader)
			return lap{func() error { r.r = limited(x.s.ring); return nil }, newFullRecords(r)}, nil
		}},
		{"by-hand", "the reader and the limit taken out of its fields: a view", func(x *viewed) (lap, error) {
			w := &sliceRecords{}
			return lap{func() error {
				l := limited(x.s.ring)
				if err := w.capture(l.R.(io.WriterTo)); err != nil {
					return err
				}
				w.rest = w.rest[:l.N]
				return nil
			}, w}, nil
		}},
		{"sluice", "our BufReader: a copy into its block", func(x *viewed) (lap, error) {
			w := newNextRecords()
			return lap{func() error { w.r.Reset(limited(x.s.ring)); return nil }, w}, nil
		}},
	}},
	{"file", "a file in the page cache", []viewWay{
		{"copy", "io.ReadFull from a bufio.Reader of 64 KiB into one buffer", func(x *viewed) (lap, error) {
			b := bufio.NewReaderSize(nil, 64<<10)
			return overFile(x, newFullRecords(b), b.Reset)
		}},
		{"by-hand", "Read into a buffer of 64 KiB, sliced: one copy, by the kernel", func(x *viewed) (lap, error) {
			w := &chunkRecords{buf: make([]byte, 64<<10)}
			return overFile(x, w, func(r io.Reader) { w.src, w.rest = r, nil })
		}},
		{"sluice", "our BufReader: one copy, by the kernel", func(x *viewed) (lap, error) {
			w := newNextRecords()
			return overFile(x, w, w.r.Reset)
		}},
	}},
	{"mmap", "a file that is mapped into memory", []viewWay{
		{"copy", "the file not mapped: io.ReadFull from a bufio.Reader of 64 KiB into one buffer", func(x *viewed) (lap, error) {
			b := bufio.NewReaderSize(nil, 64<<10)
			return overFile(x, newFullRecords(b), b.Reset)
		}},
		{"by-hand", "slices of the mapping: views of the page cache", func(x *viewed) (lap, error) {
			p, err := x.mapping()
			w := &sliceRecords{}
			return lap{func() error { w.rest = p; return nil }, w}, err
		}},
		{"sluice", "our NewBufReaderBytes over the mapping: views of the page cache", func(x *viewed) (lap, error) {
			p, err := x.mapping()
			w := &nextRecords{size: viewRecord}
			return lap{func() error { w.r = sluice.NewBufReaderBytes(p); return nil }, w}, err
		}},
	}},
}

// mapping returns the records in a file that is mapped until x is closed.
func (x *viewed) mapping() ([]byte, error) {
	f, err := x.file()
	if err != nil {
		return nil, err
	}
	p, unmap, err := mapFile(f, len(x.s.ring))
	if err != nil {
		return nil, err
	}
	x.after = append(x.after, unmap)
	return p, nil
}

func newFullRecords(r io.Reader) walk { return &fullRecords{r, make([]byte, viewRecord)} }

func newNextRecords() *nextRecords {
	return &nextRecords{oneReader{sluice.NewBufReader(nil)}, viewRecord}
}

// rewind begins a bufio.Reader over a bytes.Reader again.
func rewind(x *viewed, r *bytes.Reader, b *bufio.Reader) func() error {
	return func() error {
		r.Reset(x.s.ring)
		b.Reset(r)
		return nil
	}
}

// overFile makes a lap over a file that reset hands to the walk.
func overFile(x *viewed, w walk, reset func(io.Reader)) (lap, error) {
	f, err := x.file()
	return lap{func() error {
		_, err := f.Seek(0, io.SeekStart)
		reset(f)
		return err
	}, w}, err
}

// halves is a stream in two parts, joined the usual way.
func halves(p []byte) io.Reader {
	return io.MultiReader(bytes.NewReader(p[:len(p)/2]), bytes.NewReader(p[len(p)/2:]))
}

func limited(p []byte) *io.LimitedReader {
	return &io.LimitedReader{R: bytes.NewReader(p), N: int64(len(p))}
}

// swapReader reads from whatever reader it has now.
type swapReader struct{ r io.Reader }

func (s *swapReader) Read(p []byte) (int, error) { return s.r.Read(p) }

// sliceRecords walks slices that it was shown.
type sliceRecords struct {
	rest []byte
	more [][]byte
}

// capture keeps the slices that r writes. They are borrowed from the owner of their memory.
func (w *sliceRecords) capture(r io.WriterTo) error {
	w.rest, w.more = nil, w.more[:0]
	_, err := r.WriteTo(w)
	return err
}

func (w *sliceRecords) Write(p []byte) (int, error) {
	if w.rest == nil {
		w.rest = p
	} else {
		w.more = append(w.more, p)
	}
	return len(p), nil
}

func (w *sliceRecords) walk(n int) (sum uint64, err error) {
	for range n {
		if len(w.rest) == 0 {
			if len(w.more) == 0 {
				return sum, io.ErrUnexpectedEOF
			}
			w.rest, w.more = w.more[0], w.more[1:]
		}
		sum += mark(w.rest[:viewRecord])
		w.rest = w.rest[viewRecord:]
	}
	return sum, nil
}

// stringRecords walks a string that it was shown.
type stringRecords struct{ rest string }

func (w *stringRecords) Write(p []byte) (int, error) { return w.WriteString(string(p)) }

func (w *stringRecords) WriteString(s string) (int, error) {
	w.rest = s
	return len(s), nil
}

func (w *stringRecords) walk(n int) (sum uint64, err error) {
	for range n {
		p := w.rest[:viewRecord]
		sum += uint64(len(p)) + uint64(p[0])<<24 + uint64(p[len(p)-1])<<40
		w.rest = w.rest[viewRecord:]
	}
	return sum, nil
}

// chunkRecords reads pieces of whole records.
type chunkRecords struct {
	src       io.Reader
	buf, rest []byte
}

func (w *chunkRecords) walk(n int) (sum uint64, err error) {
	for range n {
		if len(w.rest) == 0 {
			k, err := io.ReadAtLeast(w.src, w.buf, viewRecord)
			if err != nil {
				return sum, err
			}
			w.rest = w.buf[:k]
		}
		sum += mark(w.rest[:viewRecord])
		w.rest = w.rest[viewRecord:]
	}
	return sum, nil
}
