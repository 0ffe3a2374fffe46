package scenarios

import (
	"bufio"
	"encoding/binary"
	"io"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/netsim"
)

var _ = register(160, rawReadGroup)

// rawReadGroup sets io.ReadFull into a buffer that is used again against
// reading whatever comes and parsing it where it lies.
func rawReadGroup() []lab.Scenario {
	memory := lab.Scenario{
		Name:     "raw-read/memory",
		Title:    "frames of 256 to 1,024 bytes from memory: io.ReadFull against parsing in place",
		Op:       "frame",
		Metric:   lab.NsPerOp,
		Baseline: "readfull-bufio",
		Ops:      100_000,
	}
	tcp := lab.Scenario{
		Name:     "raw-read/tcp",
		Title:    "frames of 256 to 1,024 bytes over loopback TCP: io.ReadFull against parsing in place, the reader's processor time",
		Op:       "frame",
		Metric:   lab.CPUPerOp,
		Baseline: "readfull-bufio",
		Ops:      100_000,
	}
	for _, w := range inPlaceWays {
		memory.Variants = append(memory.Variants, lab.Variant{Name: w.name, About: w.about, Open: func(env lab.Env) (lab.Runner, error) {
			s := shortFrames(env)
			return newWalker(w, netsim.NewReader(s.source(0), netsim.Good, env.Seed), place{s: s}), nil
		}})
		tcp.Variants = append(tcp.Variants, overTCP(w, func(env lab.Env) string {
			return frameKind{env.Seed, 256, 1024}.String()
		}))
	}
	return []lab.Scenario{memory, tcp}
}

var inPlaceWays = []way{
	{"readfull", "io.ReadFull straight from the source: a read for the header and one for the payload", func(src io.Reader, _ place) walk {
		return &reuseFrames{r: src}
	}},
	{"readfull-bufio", "io.ReadFull from a bufio.Reader of 64 KiB", func(src io.Reader, _ place) walk {
		return &reuseFrames{r: bufio.NewReaderSize(src, 64<<10)}
	}},
	{"raw-by-hand", "Read into a buffer of 64 KiB and a parser written for it", func(src io.Reader, _ place) walk {
		return &rawFrames{src: src, buf: make([]byte, 64<<10)}
	}},
	{"bufio-view", "Peek(Buffered()) on a bufio.Reader of 64 KiB, parsed in place", func(src io.Reader, _ place) walk {
		return &peekViewFrames{r: bufio.NewReaderSize(src, 64<<10)}
	}},
	{"view", "our BufReader: View and Advance, parsed in place", func(src io.Reader, _ place) walk {
		return &viewFrames{oneReader{sluice.NewBufReader(src)}}
	}},
}

// parseFrames looks at the whole frames in p, n at most. It returns how many
// there were, how many bytes they have, and how many bytes the next one needs.
func parseFrames(p []byte, n int) (sum uint64, frames, used, need int) {
	for frames < n {
		rest := p[used:]
		if len(rest) < frameHead {
			return sum, frames, used, frameHead
		}
		size := frameHead + int(binary.BigEndian.Uint32(rest))
		if len(rest) < size {
			return sum, frames, used, size
		}
		sum += mark(rest[frameHead:size])
		used += size
		frames++
	}
	return sum, frames, used, 0
}

type rawFrames struct {
	src  io.Reader
	buf  []byte
	r, w int
}

func (f *rawFrames) walk(n int) (sum uint64, err error) {
	for {
		m, frames, used, need := parseFrames(f.buf[f.r:f.w], n)
		sum += m
		n -= frames
		f.r += used
		if n == 0 {
			return sum, nil
		}
		if f.r+need > len(f.buf) || f.r == f.w {
			f.w = copy(f.buf, f.buf[f.r:f.w])
			f.r = 0
		}
		k, err := f.src.Read(f.buf[f.w:])
		f.w += k
		if err != nil {
			return sum, err
		}
	}
}

type peekViewFrames struct{ r *bufio.Reader }

func (f *peekViewFrames) walk(n int) (sum uint64, err error) {
	for {
		p, err := f.r.Peek(f.r.Buffered())
		if err != nil {
			return sum, err
		}
		m, frames, used, need := parseFrames(p, n)
		sum += m
		n -= frames
		if _, err := f.r.Discard(used); err != nil {
			return sum, err
		}
		if n == 0 {
			return sum, nil
		}
		if _, err := f.r.Peek(need); err != nil {
			return sum, err
		}
	}
}

type viewFrames struct{ oneReader }

func (f *viewFrames) walk(n int) (sum uint64, err error) {
	for {
		m, frames, used, need := parseFrames(f.r.View(), n)
		sum += m
		n -= frames
		_ = f.r.Skip(used)
		if n == 0 {
			return sum, nil
		}
		if _, err := f.r.Peek(need); err != nil {
			return sum, err
		}
	}
}
