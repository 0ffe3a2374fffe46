package scenarios

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/lab/internal/lab"
)

// What buffering gains: frames written to a file and read from one, with a system call
// for each part of them, through bufio and through ours. The file stays in the page
// cache, so that what is compared is calls and copies, not a disk.

var _ = register(150, filesGroup)

const syscallsPerOp = "syscalls/op"

func filesGroup() []lab.Scenario {
	read := slices.Concat(readFullWays, pick(plainWays, "peek"), pick(ourWays, "next"), []way{viewWay})
	return []lab.Scenario{{
		Name:     "files/read",
		Title:    "frames of 256 to 1,024 bytes read from a file in the page cache, buffered and not",
		Op:       "frame",
		Metric:   lab.NsPerOp,
		Baseline: "peek",
		Ops:      100_000,
		Fixed:    true, // the slowest takes fifty times what the fastest takes
		Targets:  []lab.Target{{Variant: "next", Against: "peek", AtMost: 1.00}, {Variant: "view", Against: "peek", AtMost: 1.00}},
		Variants: variants(read, readFile),
	}, {
		Name:     "files/write",
		Title:    "frames of 256 to 1,024 bytes written to a file in the page cache, buffered and not",
		Op:       "frame",
		Metric:   lab.NsPerOp,
		Baseline: "bufio-64K",
		Ops:      100_000,
		Fixed:    true, // the slowest takes fifty times what the fastest takes
		Targets:  []lab.Target{{Variant: "bufwriter", Against: "bufio-64K", AtMost: 1.05}},
		Variants: []lab.Variant{
			fileWriter("plain", "a write for each frame", func(w io.Writer) flushed { return unbuffered{w} }),
			fileWriter("bufio-4K", "bufio.Writer of 4 KiB, its default", func(w io.Writer) flushed { return bufio.NewWriter(w) }),
			fileWriter("bufio-64K", "bufio.Writer of 64 KiB", func(w io.Writer) flushed { return bufio.NewWriterSize(w, 64<<10) }),
			fileWriter("bufwriter", "our BufWriter", func(w io.Writer) flushed { return sluice.NewBufWriter(w) }),
		},
	}}
}

var readFullWays = []way{
	{"readfull", "io.ReadFull straight from the file: a read for the header and one for the payload", func(src io.Reader, p place) (walk, func()) {
		return readFull(src, p.s.max), nil
	}},
	{"readfull-4K", "io.ReadFull from a bufio.Reader of 4 KiB, its default", func(src io.Reader, p place) (walk, func()) {
		return readFull(bufio.NewReader(src), p.s.max), nil
	}},
	{"readfull-64K", "io.ReadFull from a bufio.Reader of 64 KiB", func(src io.Reader, p place) (walk, func()) {
		return readFull(bufio.NewReaderSize(src, 64<<10), p.s.max), nil
	}},
}

// Like memKind, readFull is not inlined.
//
//go:noinline
func readFull(r io.Reader, longest int) walk {
	buf := make([]byte, longest)
	return func(n int) (sum uint64, err error) {
		for range n {
			if _, err := io.ReadFull(r, buf[:frameHead]); err != nil {
				return sum, err
			}
			p := buf[:binary.BigEndian.Uint32(buf)]
			if _, err := io.ReadFull(r, p); err != nil {
				return sum, err
			}
			sum += mark(p)
		}
		return sum, nil
	}
}

// viewWay parses what there is where it lies, and asks for more when a frame is not whole.
var viewWay = way{"view", "our BufReader: raw reads, parsed in place by View and Skip", ours(func(r *sluice.BufReader) walk {
	return func(n int) (sum uint64, err error) {
		for n > 0 {
			p, used, need := r.View(), 0, frameHead
			for ; n > 0 && len(p)-used >= need; need = frameHead {
				size := frameHead + int(binary.BigEndian.Uint32(p[used:]))
				if len(p)-used < size {
					need = size
					break
				}
				sum += mark(p[used+frameHead : used+size])
				used += size
				n--
			}
			if err := r.Skip(used); err != nil || n == 0 {
				return sum, err
			}
			if _, err := r.Peek(need); err != nil {
				return sum, err
			}
		}
		return sum, nil
	}
})}

// frameFile is a file that holds a stream's ring, and is read or written from its
// beginning again at its end.
type frameFile struct {
	*os.File
	calls int // that reached it
}

func createFrames(env lab.Env) (*frameFile, *stream, error) {
	f, err := os.Create(filepath.Join(env.Dir, "frames"))
	return &frameFile{File: f}, shortFrames(env), err
}

func (f *frameFile) Read(p []byte) (int, error) {
	f.calls++
	n, err := f.File.Read(p)
	if err != io.EOF {
		return n, err
	}
	f.calls += 2
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}

func (f *frameFile) Write(p []byte) (int, error) {
	f.calls++
	return f.File.Write(p)
}

func (f *frameFile) counted(run func(ops int) (lab.Sample, error)) lab.Runner {
	return runner{func(ops int) (lab.Sample, error) {
		f.calls = 0
		sample, err := run(ops)
		sample.Figures = map[string]float64{syscallsPerOp: float64(f.calls) / float64(ops)}
		return sample, err
	}, f.Close}
}

func readFile(env lab.Env, w way) (lab.Runner, error) {
	f, s, err := createFrames(env)
	if err != nil {
		return nil, err
	}
	if _, err := f.WriteAt(s.ring, 0); err != nil { // which reads begin before
		f.Close()
		return nil, fmt.Errorf("scenarios: writing frames to read: %w", err)
	}
	r := newWalker(w, f, place{s: s})
	r.done = f.Close
	return runner{f.counted(r.Run).Run, r.Close}, nil
}

type flushed interface {
	io.Writer
	Flush() error
}

type unbuffered struct{ io.Writer }

func (unbuffered) Flush() error { return nil }

// fileWriter is a variant that writes the same frames, over and over from the beginning
// of the file, through what open puts before it, and reads the last one back.
func fileWriter(name, about string, open func(io.Writer) flushed) lab.Variant {
	return lab.Variant{Name: name, About: about, Open: func(env lab.Env) (lab.Runner, error) {
		f, s, err := createFrames(env)
		if err != nil {
			return nil, err
		}
		w := open(f)
		at := place{s: s}
		return f.counted(func(ops int) (lab.Sample, error) {
			last := at.at
			for range ops {
				if at.at == 0 {
					if err := w.Flush(); err != nil {
						return lab.Sample{}, err
					}
					if _, err := f.Seek(0, io.SeekStart); err != nil {
						return lab.Sample{}, err
					}
				}
				last = at.at
				if _, err := w.Write(s.ring[s.ends[last]:s.ends[last+1]]); err != nil {
					return lab.Sample{}, err
				}
				at.at = (at.at + 1) % s.units()
			}
			if err := w.Flush(); err != nil {
				return lab.Sample{}, err
			}
			want := s.ring[s.ends[last]:s.ends[last+1]]
			got := make([]byte, len(want))
			if _, err := f.ReadAt(got, s.ends[last]); err != nil {
				return lab.Sample{}, err
			}
			if !bytes.Equal(got, want) {
				return lab.Sample{}, fmt.Errorf("%w: frame %d in the file", errDiffers, last)
			}
			return lab.Sample{Bytes: s.load(0, ops), Check: mark(got)}, nil
		}), nil
	}}
}
