package scenarios

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

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
		sc := lab.Scenario{
			Name:     "views/" + k.name,
			Title:    "records of 1 KiB from " + k.title,
			Op:       "record",
			Metric:   lab.NsPerOp,
			Baseline: "copy",
			Ops:      100_000,
		}
		for _, v := range k.variants {
			sc.Variants = append(sc.Variants, lab.Variant{Name: v.name, About: v.about, Open: func(env lab.Env) (lab.Runner, error) {
				x := &viewed{s: viewStream(env.Seed), env: env}
				l, err := v.open(x)
				if err != nil {
					return nil, errors.Join(err, x.close())
				}
				return &walker{place: place{s: x.s}, w: &laps{lap: l}, done: x.close}, nil
			}})
		}
		group = append(group, sc)
	}
	return group
}

// A viewKind is a kind of reader.
type viewKind struct {
	name, title string
	variants    []viewWay
}

// A viewWay is a way to look at the records of a reader.
type viewWay struct {
	name, about string
	open        func(*viewed) (lap, error)
}

// A lap is one pass over all records of a reader.
type lap struct {
	// start begins at the first record again.
	start func() error
	walk  walk
}

// laps walks lap after lap.
type laps struct {
	lap
	left int // records of the lap under way
}

func (l *laps) walk(n int) (sum uint64, err error) {
	for n > 0 {
		if l.left == 0 {
			if err := l.start(); err != nil {
				return sum, err
			}
			l.left = viewLap
		}
		k := min(n, l.left)
		m, err := l.lap.walk.walk(k)
		sum += m
		if err != nil {
			return sum, err
		}
		n -= k
		l.left -= k
	}
	return sum, nil
}

func (l *laps) end() { end(l.lap.walk) }

// viewed is what a variant looks at, and the functions that close it afterwards.
type viewed struct {
	s     *stream
	env   lab.Env
	after []func() error
}

func (x *viewed) close() error {
	var errs []error
	for _, f := range x.after {
		errs = append(errs, f())
	}
	x.after = nil
	return errors.Join(errs...)
}

// file returns a file of the records, to be closed with x.
func (x *viewed) file() (*os.File, error) {
	path := filepath.Join(x.env.Dir, "records")
	if err := os.WriteFile(path, x.s.ring, 0o600); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err == nil {
		x.after = append(x.after, f.Close)
	}
	return f, err
}

var viewStreams sync.Map // of *stream, by seed

// viewStream returns the records: a MiB, made once and kept.
func viewStream(seed uint64) *stream {
	if s, ok := viewStreams.Load(seed); ok {
		return s.(*stream)
	}
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	s := newStream(nil)
	s.ring = make([]byte, viewLap*viewRecord)
	rand.NewChaCha8(key).Read(s.ring) // never fails
	for p := s.ring; len(p) > 0; p = p[viewRecord:] {
		s.add(viewRecord, viewRecord, mark(p[:viewRecord]))
	}
	kept, _ := viewStreams.LoadOrStore(seed, s)
	return kept.(*stream)
}
