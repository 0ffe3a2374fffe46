package scenarios

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

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
		group = append(group, lab.Scenario{
			Name:     "file-read/" + size.name,
			Title:    "a file of 100 MiB read in records of " + size.label + ", buffered and not",
			Op:       "record",
			Metric:   lab.NsPerOp,
			Baseline: "bufio-64K",
			Ops:      readFileSize / size.bytes,
			Targets:  []lab.Target{{Variant: "next", Against: "bufio-64K", AtMost: 1.10}},
			Variants: variants(recordWays, func(env lab.Env, w way) (lab.Runner, error) { return newFileReader(env, size.bytes, w) }),
		})
	}
	return group
}

// recordWays are the ways to read records of one size.
var recordWays = []way{
	{"plain", "io.ReadFull from the file into one buffer", func(src io.Reader, p place) (walk, func()) { return oneBuffer(src, p), nil }},
	{"bufio-4K", "io.ReadFull from a bufio.Reader of 4 KiB, its default", func(src io.Reader, p place) (walk, func()) {
		return oneBuffer(bufio.NewReader(src), p), nil
	}},
	pick(plainWays, "reuse")[0].called("bufio-64K-copy", "io.ReadFull from a bufio.Reader of 64 KiB"),
	wholePeek.called("bufio-64K", "Peek and Discard on a bufio.Reader of 64 KiB"),
	ourWays[0],
}

// newFileReader walks a file that begins again at its end, and counts the reads.
func newFileReader(env lab.Env, record int, w way) (lab.Runner, error) {
	// One file for all variants: the first one writes it.
	path := filepath.Join(cmp.Or(env.Shared, env.Dir), "records")
	_, err := os.Stat(path)
	var file *os.File
	write := errors.Is(err, os.ErrNotExist)
	if write {
		file, err = os.Create(path)
	} else if err == nil {
		file, err = os.Open(path)
	}
	if err != nil {
		return nil, err
	}
	s, err := records(env.Seed, record, readFileSize/record, func(p []byte) error {
		if !write {
			return nil
		}
		_, err := file.Write(p)
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("scenarios: writing %d MiB for file-read: %w", readFileSize>>20, err), file.Close())
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	loop := &loopFile{f: file}
	reader := newWalker(w, loop, place{s: s})
	reader.done = file.Close
	return runner{func(ops int) (lab.Sample, error) {
		loop.calls = 0
		sample, err := reader.Run(ops)
		sample.Figures = map[string]float64{syscallsPerOp: float64(loop.calls) / float64(ops)}
		return sample, err
	}, reader.Close}, nil
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
