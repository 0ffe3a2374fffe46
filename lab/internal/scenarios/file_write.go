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

var _ = register(140, fileWriteGroup)

// fileWriteGroup writes lines of a log to a file.
func fileWriteGroup() []lab.Scenario {
	variant := func(name, about string, open func(io.Writer) (io.Writer, func() error)) lab.Variant {
		return lab.Variant{Name: name, About: about, Open: func(env lab.Env) (lab.Runner, error) { return newLineWriter(env, open) }}
	}
	sized := func(size int) func(io.Writer) (io.Writer, func() error) {
		return func(w io.Writer) (io.Writer, func() error) {
			b := bufio.NewWriterSize(w, size)
			return b, b.Flush
		}
	}
	return []lab.Scenario{{
		Name:     "file-write",
		Title:    "a million lines of 20 to 120 bytes written to a file, buffered and not",
		Op:       "line",
		Metric:   lab.NsPerOp,
		Baseline: "bufio-64K",
		Ops:      1_000_000,
		Targets:  []lab.Target{{Variant: "bufwriter", Against: "bufio-64K", AtMost: 1.10}},
		Variants: []lab.Variant{
			variant("plain", "a write to the file for each line", func(w io.Writer) (io.Writer, func() error) { return w, func() error { return nil } }),
			variant("bufio-4K", "bufio.Writer of 4 KiB, its default", sized(4<<10)),
			variant("bufio-64K", "bufio.Writer of 64 KiB", sized(64<<10)),
			variant("bufwriter", "our BufWriter", func(w io.Writer) (io.Writer, func() error) {
				b := sluice.NewBufWriter(w)
				return b, b.Flush
			}),
		},
	}}
}

// maxLine is the longest line in bytes, lineCount how many different lines there are,
// readBack how many are read back after each round.
const (
	maxLine   = 120
	lineCount = 10_000
	readBack  = 8
)

// newLineWriter writes the same lines over and over, from the start of the file
// in every round.
func newLineWriter(env lab.Env, open func(io.Writer) (io.Writer, func() error)) (lab.Runner, error) {
	f, err := os.Create(filepath.Join(env.Dir, "lines"))
	if err != nil {
		return nil, err
	}
	rnd := rand.New(rand.NewPCG(env.Seed, lineCount))
	var lines [][]byte
	ends := []int64{0} // prefix sums of their lengths
	for i := range lineCount {
		line := make([]byte, 20+rnd.IntN(maxLine-19))
		for at := range line {
			line[at] = byte('a' + rnd.IntN(26))
		}
		line[len(line)-1] = '\n'
		lines = append(lines, line)
		ends = append(ends, ends[i]+int64(len(line)))
	}
	file := &countedFile{File: f}
	out, flush := open(file)
	return runner{func(ops int) (lab.Sample, error) {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return lab.Sample{}, err
		}
		file.calls = 0
		for left := ops; left > 0; left -= len(lines) {
			for _, line := range lines[:min(left, len(lines))] {
				if _, err := out.Write(line); err != nil {
					return lab.Sample{}, err
				}
			}
		}
		if err := flush(); err != nil {
			return lab.Sample{}, err
		}
		size := over(ends, 0, ops)
		check, err := readLines(f, lines, ends, ops)
		return lab.Sample{Bytes: size, Check: check, Figures: map[string]float64{syscallsPerOp: float64(file.calls) / float64(ops)}}, err
	}, f.Close}, nil
}

// readLines compares the end of a file, and its last lines, with what was written: n lines.
func readLines(f *os.File, lines [][]byte, ends []int64, n int) (sum uint64, err error) {
	size := over(ends, 0, n)
	end, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	if end != size {
		return 0, fmt.Errorf("%w: the file ends at %d after %d lines, want %d", errDiffers, end, n, size)
	}
	back := min(readBack, n)
	at := over(ends, 0, n-back)
	got := make([]byte, size-at)
	if _, err := f.ReadAt(got, at); err != nil {
		return 0, err
	}
	for i := n - back; i < n; i++ {
		want := lines[i%len(lines)]
		if !bytes.HasPrefix(got, want) {
			return 0, fmt.Errorf("%w: line %d is %.40q, want %.40q", errDiffers, i, got, want)
		}
		got = got[len(want):]
		sum += binary.LittleEndian.Uint64(want)
	}
	return sum, nil
}

// countedFile counts the writes that reach the file: each is a system call.
type countedFile struct {
	*os.File
	calls int
}

func (c *countedFile) Write(p []byte) (int, error) {
	c.calls++
	return c.File.Write(p)
}
