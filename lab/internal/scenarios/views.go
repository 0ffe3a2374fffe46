package scenarios

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/lab/internal/lab"
)

// viewRecord is the length of a record in the views scenarios, viewLap how
// many there are before a reader has come to its end and begins again.
const (
	viewRecord = 1 << 10
	viewLap    = 1 << 10
)

var _ = register(170, viewsGroup)

// viewsGroup asks of each kind of reader whether its bytes can be viewed where
// they are, and what a copy, the best by hand and our reader cost on it.
func viewsGroup() []lab.Scenario {
	var group []lab.Scenario
	for _, k := range viewKinds {
		variant := func(name, about string, begin func(*viewed) (func() (walk, error), error)) lab.Variant {
			return lab.Variant{Name: name, About: about, Open: func(env lab.Env) (lab.Runner, error) {
				x := &viewed{env: env}
				s, err := records(env.Seed, viewRecord, viewLap, func(p []byte) error {
					x.ring = bytes.Clone(p)
					return nil
				})
				if err != nil {
					return nil, err
				}
				x.place = place{s: s}
				lap, err := begin(x)
				if err != nil {
					return nil, errors.Join(err, x.close())
				}
				return &walker{place: x.place, walk: laps(lap), done: x.close}, nil
			}}
		}
		group = append(group, lab.Scenario{
			Name:     "views/" + k.name,
			Title:    "records of 1 KiB from " + k.title,
			Op:       "record",
			Metric:   lab.NsPerOp,
			Baseline: "copy",
			Ops:      100_000,
			Variants: []lab.Variant{
				variant("copy", k.copied, func(x *viewed) (func() (walk, error), error) {
					open, err := k.open(x)
					b := bufio.NewReaderSize(nil, 64<<10)
					return func() (walk, error) {
						r, err := open()
						if _, file := r.(*os.File); file {
							b.Reset(r)
							r = b
						}
						return oneBuffer(r, x.place), err
					}, err
				}),
				variant("by-hand", k.byHand, k.hand),
				variant("sluice", k.ours, func(x *viewed) (func() (walk, error), error) {
					open, err := k.open(x)
					if err != nil {
						return nil, err
					}
					r := sluice.NewBufReader(nil)
					x.after = append(x.after, func() error { r.Recycle(); return nil })
					p, inHand, err := k.slice(x)
					return func() (walk, error) {
						if inHand {
							return next(sluice.NewBufReaderBytes(p), x.place.s.format), nil
						}
						src, err := open()
						r.Reset(src)
						return next(r, x.place.s.format), err
					}, err
				}),
			},
		})
	}
	return group
}

// laps walks lap after lap over a reader's records.
func laps(begin func() (walk, error)) walk {
	var w walk
	left := 0 // records of the lap under way
	return func(n int) (sum uint64, err error) {
		for n > 0 {
			if left == 0 {
				if w, err = begin(); err != nil {
					return sum, err
				}
				left = viewLap
			}
			k := min(n, left)
			m, err := w(k)
			sum += m
			if err != nil {
				return sum, err
			}
			n -= k
			left -= k
		}
		return sum, nil
	}
}

// A viewKind is a kind of reader.
type viewKind struct {
	name, title          string
	copied, byHand, ours string // about the variants
	// open returns what makes a reader of the records.
	open func(*viewed) (func() (io.Reader, error), error)
	// hand returns what makes the walk that is written for the kind.
	hand func(*viewed) (func() (walk, error), error)
}

// viewed is what a variant looks at, and the functions that close it afterwards.
type viewed struct {
	place
	ring  []byte
	env   lab.Env
	after []func() error
}

func (x *viewed) close() error {
	var errs []error
	for _, f := range x.after {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// file returns a file of the records, to be closed with x.
func (x *viewed) file() (*os.File, error) {
	path := filepath.Join(x.env.Dir, "records")
	if err := os.WriteFile(path, x.ring, 0o600); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err == nil {
		x.after = append(x.after, f.Close)
	}
	return f, err
}

// mapping returns the records in a file that is mapped until x is closed.
func (x *viewed) mapping() ([]byte, error) {
	f, err := x.file()
	if err != nil {
		return nil, err
	}
	p, unmap, err := mapFile(f, len(x.ring))
	if err != nil {
		return nil, err
	}
	x.after = append(x.after, unmap)
	return p, nil
}

// slice returns the records of a kind of which our reader is given them in hand.
func (k *viewKind) slice(x *viewed) (p []byte, inHand bool, err error) {
	switch k.name {
	case "bytes":
		return x.ring, true, nil
	case "mmap":
		p, err = x.mapping()
		return p, true, err
	}
	return nil, false, nil
}

// The abouts that most kinds share.
const (
	copiedWhole = "io.ReadFull into one buffer"
	intoBlock   = "our BufReader: a copy into its block"
)

// viewKinds are the kinds of readers, from bytes in hand to files.
var viewKinds = []viewKind{
	{"bytes", "a slice in hand", "io.ReadFull from a bytes.Reader into one buffer", "slices of the slice", "our NewBufReaderBytes: a view",
		made(bytesReader), func(x *viewed) (func() (walk, error), error) { return shown(x.ring), nil }},
	{"bytes.Reader", "a bytes.Reader", copiedWhole, "WriteTo, which shows a Writer the slice itself: a view", intoBlock,
		made(bytesReader), captured(bytesReader)},
	{"strings.Reader", "a strings.Reader", copiedWhole, "WriteTo, which shows a StringWriter the string itself: a view, as a string", intoBlock,
		func(x *viewed) (func() (io.Reader, error), error) {
			text := string(x.ring)
			return func() (io.Reader, error) { return strings.NewReader(text), nil }, nil
		}, func(x *viewed) (func() (walk, error), error) {
			text := string(x.ring)
			return func() (walk, error) {
				var c capture
				_, err := strings.NewReader(text).WriteTo(&c)
				return recordsIn(c.text), err
			}, nil
		}},
	{"bufio", "a bufio.Reader of 64 KiB over a bytes.Reader", copiedWhole, "Peek and Discard: a view of its buffer", "our BufReader over it: a second copy",
		func(x *viewed) (func() (io.Reader, error), error) {
			b := bufio.NewReaderSize(nil, 64<<10)
			return func() (io.Reader, error) {
				b.Reset(bytes.NewReader(x.ring))
				return b, nil
			}, nil
		}, func(x *viewed) (func() (walk, error), error) {
			b := bufio.NewReaderSize(nil, 64<<10)
			return func() (walk, error) {
				b.Reset(bytes.NewReader(x.ring))
				return peekWhole(b, x.place), nil
			}, nil
		}},
	{"composed", "an io.MultiReader of two bytes.Readers", copiedWhole, "WriteTo, which shows a Writer the slices themselves: views", intoBlock,
		made(halves), captured(halves)},
	{"limited", "an io.LimitedReader over a bytes.Reader", copiedWhole, "the reader taken out of its field: a view", intoBlock,
		made(limited), captured(func(p []byte) io.Reader { return limited(p).(*io.LimitedReader).R })},
	{"file", "a file in the page cache", "io.ReadFull from a bufio.Reader of 64 KiB into one buffer", "Read into a buffer of 64 KiB, sliced: one copy, by the kernel",
		"our BufReader: one copy, by the kernel", fromFile, chunks},
	{"mmap", "a file that is mapped into memory", "the file not mapped: io.ReadFull from a bufio.Reader of 64 KiB into one buffer", "slices of the mapping: views of the page cache",
		"our NewBufReaderBytes over the mapping: views of the page cache", fromFile, func(x *viewed) (func() (walk, error), error) {
			p, err := x.mapping()
			return shown(p), err
		}},
}

// made is open of a kind whose readers are made of a slice.
func made(reader func([]byte) io.Reader) func(*viewed) (func() (io.Reader, error), error) {
	return func(x *viewed) (func() (io.Reader, error), error) {
		return func() (io.Reader, error) { return reader(x.ring), nil }, nil
	}
}

func bytesReader(p []byte) io.Reader { return bytes.NewReader(p) }

// halves is a stream in two parts, joined the usual way.
func halves(p []byte) io.Reader {
	return io.MultiReader(bytes.NewReader(p[:len(p)/2]), bytes.NewReader(p[len(p)/2:]))
}

func limited(p []byte) io.Reader { return io.LimitReader(bytes.NewReader(p), int64(len(p))) }

// fromFile begins a file again.
func fromFile(x *viewed) (func() (io.Reader, error), error) {
	f, err := x.file()
	return func() (io.Reader, error) {
		_, err := f.Seek(0, io.SeekStart)
		return f, err
	}, err
}

// shown makes walks over the slices that it is given.
func shown(p ...[]byte) func() (walk, error) {
	return func() (walk, error) { return recordsIn(append([][]byte(nil), p...)...), nil }
}

// captured makes walks over the slices that a reader writes, borrowed from the owner
// of their memory.
func captured(reader func([]byte) io.Reader) func(*viewed) (func() (walk, error), error) {
	return func(x *viewed) (func() (walk, error), error) {
		return func() (walk, error) {
			var c capture
			_, err := reader(x.ring).(io.WriterTo).WriteTo(&c)
			return recordsIn(c.parts...), err
		}, nil
	}
}

// A capture keeps what it is shown.
type capture struct {
	parts [][]byte
	text  string
}

func (c *capture) Write(p []byte) (int, error) {
	c.parts = append(c.parts, p)
	return len(p), nil
}

func (c *capture) WriteString(s string) (int, error) {
	c.text = s
	return len(s), nil
}

// recordsIn walks records where they lie.
func recordsIn[T string | []byte](parts ...T) walk {
	return func(n int) (sum uint64, err error) {
		for range n {
			if len(parts) == 0 {
				return sum, io.ErrUnexpectedEOF
			}
			p := parts[0][:viewRecord]
			sum += uint64(len(p)) + uint64(p[0])<<24 + uint64(p[len(p)-1])<<40 // mark
			if parts[0] = parts[0][viewRecord:]; len(parts[0]) == 0 {
				parts = parts[1:]
			}
		}
		return sum, nil
	}
}

// chunks reads pieces of whole records.
func chunks(x *viewed) (func() (walk, error), error) {
	open, err := fromFile(x)
	buf := make([]byte, 64<<10)
	return func() (walk, error) {
		src, err := open()
		var rest []byte
		return func(n int) (sum uint64, err error) {
			for range n {
				if len(rest) == 0 {
					k, err := io.ReadAtLeast(src, buf, viewRecord)
					if err != nil {
						return sum, err
					}
					rest = buf[:k]
				}
				sum += mark(rest[:viewRecord])
				rest = rest[viewRecord:]
			}
			return sum, nil
		}, err
	}, err
}
