package scenarios

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/lab/internal/lab"
)

// syscallsPerOp is the number of reads or writes that reached the file, for
// each operation.
const syscallsPerOp = "syscalls/op"

// A lineSink is a writer of lines.
type lineSink interface {
	Write(line []byte) (int, error)
	Flush() error
}

var _ = register(140, fileWriteGroup)

// fileWriteGroup writes lines of a log to a file.
func fileWriteGroup() []lab.Scenario {
	sc := lab.Scenario{
		Name:     "file-write",
		Title:    "a million lines of 20 to 120 bytes written to a file, buffered and not",
		Op:       "line",
		Metric:   lab.NsPerOp,
		Baseline: "bufio-64K",
		Ops:      1_000_000,
		Targets:  []lab.Target{{Variant: "bufwriter", Against: "bufio-64K", AtMost: 1.10}},
	}
	for _, v := range []struct {
		name, about string
		open        func(io.Writer) lineSink
	}{
		{"plain", "a write to the file for each line", func(w io.Writer) lineSink { return unbuffered{w} }},
		{"bufio-4K", "bufio.Writer of 4 KiB, its default", func(w io.Writer) lineSink { return bufio.NewWriter(w) }},
		{"bufio-64K", "bufio.Writer of 64 KiB", func(w io.Writer) lineSink { return bufio.NewWriterSize(w, 64<<10) }},
		{"bufwriter", "our BufWriter", func(w io.Writer) lineSink { return sluice.NewBufWriter(w) }},
	} {
		sc.Variants = append(sc.Variants, lab.Variant{Name: v.name, About: v.about, Open: func(env lab.Env) (lab.Runner, error) {
			return newLineWriter(env, v.open)
		}})
	}
	return []lab.Scenario{sc}
}

type unbuffered struct{ io.Writer }

func (unbuffered) Flush() error { return nil }

// lineWriter writes the same lines over and over, from the start of the file
// in every round.
type lineWriter struct {
	lines   [][]byte
	ends    []int64 // prefix sums of their lengths
	file    countedFile
	sink    lineSink
	figures map[string]float64
	back    [readBack * maxLine]byte
}

// maxLine is the longest line in bytes, readBack how many are read back after
// each round.
const (
	maxLine  = 120
	readBack = 8
)

// lineCount is how many different lines there are.
const lineCount = 10_000

func newLineWriter(env lab.Env, open func(io.Writer) lineSink) (lab.Runner, error) {
	f, err := os.Create(filepath.Join(env.Dir, "lines"))
	if err != nil {
		return nil, err
	}
	w := &lineWriter{ends: []int64{0}, file: countedFile{f: f}, figures: map[string]float64{}}
	w.sink = open(&w.file)
	rnd := rand.New(rand.NewPCG(env.Seed, lineCount))
	for range lineCount {
		line := make([]byte, 0, maxLine)
		for n := 19 + rnd.IntN(maxLine-19); len(line) < n; {
			line = append(line, byte('a'+rnd.IntN(26)))
		}
		line = append(line, '\n')
		w.lines = append(w.lines, line)
		w.ends = append(w.ends, w.ends[len(w.ends)-1]+int64(len(line)))
	}
	return w, nil
}

func (w *lineWriter) Run(ops int) (lab.Sample, error) {
	if _, err := w.file.f.Seek(0, io.SeekStart); err != nil {
		return lab.Sample{}, err
	}
	w.file.calls = 0
	for left := ops; left > 0; {
		n := min(left, len(w.lines))
		for _, line := range w.lines[:n] {
			if _, err := w.sink.Write(line); err != nil {
				return lab.Sample{}, err
			}
		}
		left -= n
	}
	if err := w.sink.Flush(); err != nil {
		return lab.Sample{}, err
	}
	w.figures[syscallsPerOp] = float64(w.file.calls) / float64(ops)
	return w.account(ops)
}

// account reads the last lines of the file back.
func (w *lineWriter) account(ops int) (lab.Sample, error) {
	size := over(w.ends, 0, ops)
	end, err := w.file.f.Seek(0, io.SeekCurrent)
	if err != nil {
		return lab.Sample{}, err
	}
	if end != size {
		return lab.Sample{}, fmt.Errorf("%w: the file ends at %d after %d lines, want %d", errDiffers, end, ops, size)
	}
	var sum uint64
	back := min(readBack, ops)
	at := over(w.ends, 0, ops-back)
	got := w.back[:size-at]
	if _, err := w.file.f.ReadAt(got, at); err != nil {
		return lab.Sample{}, err
	}
	for i := ops - back; i < ops; i++ {
		want := w.lines[i%len(w.lines)]
		if !bytes.HasPrefix(got, want) {
			return lab.Sample{}, fmt.Errorf("%w: line %d is %.40q, want %.40q", errDiffers, i, got, want)
		}
		got = got[len(want):]
		sum += binary.LittleEndian.Uint64(want)
	}
	return lab.Sample{Bytes: size, Check: sum, Figures: w.figures}, nil
}

func (w *lineWriter) Close() error { return w.file.f.Close() }

// countedFile counts the calls that reach the file: each is a system call.
type countedFile struct {
	f     *os.File
	calls int
}

func (c *countedFile) Write(p []byte) (int, error) {
	c.calls++
	return c.f.Write(p)
}
