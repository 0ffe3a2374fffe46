package scenarios

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/lab/internal/lab"
)

// readFileSize is how long the file is that the file-read scenarios read.
const readFileSize = 100 << 20

var _ = register(150, fileReadGroup)

// fileReadGroup reads a file of 100 MiB, which is in the page cache, in
// records.
func fileReadGroup() []lab.Scenario {
	var group []lab.Scenario
	for _, size := range []struct {
		name, label string
		bytes       int
	}{{"4KiB", "4 KiB", 4 << 10}, {"64KiB", "64 KiB", 64 << 10}} {
		sc := lab.Scenario{
			Name:     "file-read/" + size.name,
			Title:    "a file of 100 MiB read in records of " + size.label + ", buffered and not",
			Op:       "record",
			Metric:   lab.NsPerOp,
			Baseline: "bufio-64K",
			Ops:      readFileSize / size.bytes,
			Targets:  []lab.Target{{Variant: "next", Against: "bufio-64K", AtMost: 1.10}},
		}
		for _, w := range recordWays {
			sc.Variants = append(sc.Variants, lab.Variant{Name: w.name, About: w.about, Open: func(env lab.Env) (lab.Runner, error) {
				return newFileReader(env, size.bytes, w)
			}})
		}
		group = append(group, sc)
	}
	return group
}

// recordWays are the ways to read records of one size.
var recordWays = []way{
	{"plain", "io.ReadFull from the file into one buffer", func(src io.Reader, p place) walk {
		return &fullRecords{src, make([]byte, p.s.max)}
	}},
	{"bufio-4K", "io.ReadFull from a bufio.Reader of 4 KiB, its default", func(src io.Reader, p place) walk {
		return &fullRecords{bufio.NewReader(src), make([]byte, p.s.max)}
	}},
	{"bufio-64K-copy", "io.ReadFull from a bufio.Reader of 64 KiB", func(src io.Reader, p place) walk {
		return &fullRecords{bufio.NewReaderSize(src, 64<<10), make([]byte, p.s.max)}
	}},
	{"bufio-64K", "Peek and Discard on a bufio.Reader of 64 KiB", func(src io.Reader, p place) walk {
		return &peekRecords{bufio.NewReaderSize(src, 64<<10), p.s.max}
	}},
	{"next", "our BufReader: Next, borrowed", func(src io.Reader, p place) walk {
		return &nextRecords{oneReader{sluice.NewBufReader(src)}, p.s.max}
	}},
}

type fullRecords struct {
	r   io.Reader
	buf []byte
}

func (w *fullRecords) walk(n int) (sum uint64, err error) {
	for range n {
		if _, err := io.ReadFull(w.r, w.buf); err != nil {
			return sum, err
		}
		sum += mark(w.buf)
	}
	return sum, nil
}

type peekRecords struct {
	r    *bufio.Reader
	size int
}

func (w *peekRecords) walk(n int) (sum uint64, err error) {
	for range n {
		p, err := w.r.Peek(w.size)
		if err != nil {
			return sum, err
		}
		sum += mark(p)
		if _, err := w.r.Discard(w.size); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

type nextRecords struct {
	oneReader
	size int
}

func (w *nextRecords) walk(n int) (sum uint64, err error) {
	for range n {
		p, err := w.r.Next(w.size)
		if err != nil {
			return sum, err
		}
		sum += mark(p)
	}
	return sum, nil
}

// fileReader walks a file that begins again at its end, and counts the reads.
type fileReader struct {
	walker
	file    loopFile
	figures map[string]float64
}

func newFileReader(env lab.Env, record int, w way) (lab.Runner, error) {
	shared, err := openFixture(env, record)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(shared.path)
	if err != nil {
		shared.close()
		return nil, err
	}
	r := &fileReader{file: loopFile{f: f}, figures: map[string]float64{}}
	r.walker = walker{place: place{s: shared.s}, done: func() error {
		err := f.Close()
		shared.close()
		return err
	}}
	r.w = w.open(&r.file, r.place)
	return r, nil
}

func (r *fileReader) Run(ops int) (lab.Sample, error) {
	r.file.calls = 0
	sample, err := r.walker.Run(ops)
	r.figures[syscallsPerOp] = float64(r.file.calls) / float64(ops)
	sample.Figures = r.figures
	return sample, err
}

// loopFile reads a file without end and counts the system calls.
type loopFile struct {
	f     *os.File
	calls int
}

func (l *loopFile) Read(p []byte) (int, error) {
	l.calls++
	n, err := l.f.Read(p)
	if err != io.EOF {
		return n, err
	}
	l.calls += 2
	if _, err := l.f.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	return l.f.Read(p)
}

// A fixture is a file of random bytes that the variants of a scenario share.
type fixture struct {
	path  string
	s     *stream // its records; without a ring
	key   fixtureKey
	users int
}

type fixtureKey struct {
	seed   uint64
	record int
}

var (
	fixturesMu sync.Mutex
	fixtures   = map[fixtureKey]*fixture{}
)

// openFixture returns the file for records of that size. It lies in the
// directory of the first caller, and the last close removes it.
func openFixture(env lab.Env, record int) (*fixture, error) {
	fixturesMu.Lock()
	defer fixturesMu.Unlock()
	key := fixtureKey{env.Seed, record}
	x := fixtures[key]
	if x == nil {
		path := filepath.Join(env.Dir, "records")
		s, err := writeRecords(path, key)
		if err != nil {
			return nil, fmt.Errorf("scenarios: writing %d MiB for file-read: %w", readFileSize>>20, err)
		}
		x = &fixture{path: path, s: s, key: key}
		fixtures[key] = x
	}
	x.users++
	return x, nil
}

func (x *fixture) close() {
	fixturesMu.Lock()
	defer fixturesMu.Unlock()
	if x.users--; x.users == 0 {
		delete(fixtures, x.key)
		os.Remove(x.path) // its directory is removed in any case
	}
}

// writeRecords writes the file and returns what a reader must come to.
func writeRecords(path string, key fixtureKey) (*stream, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := newStream(nil)
	piece := make([]byte, 1<<20)
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], key.seed)
	rnd := rand.NewChaCha8(seed)
	for at := 0; at < readFileSize; at += len(piece) {
		rnd.Read(piece) // never fails
		for p := piece; len(p) > 0; p = p[key.record:] {
			s.add(key.record, key.record, mark(p[:key.record]))
		}
		if _, err := f.Write(piece); err != nil {
			return nil, err
		}
	}
	return s, f.Close()
}
