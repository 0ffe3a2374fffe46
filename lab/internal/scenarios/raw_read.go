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
	scenario := func(name, where, metric string, variants []lab.Variant) lab.Scenario {
		return lab.Scenario{
			Name:     "raw-read/" + name,
			Title:    "frames of 256 to 1,024 bytes " + where + ": io.ReadFull against parsing in place",
			Op:       "frame",
			Metric:   metric,
			Baseline: "readfull-bufio",
			Ops:      100_000,
			Variants: variants,
		}
	}
	return []lab.Scenario{
		scenario("memory", "from memory", lab.NsPerOp, walks(inPlaceWays, fromMemory(shortFrames, netsim.Good))),
		scenario("tcp", "over loopback TCP, the reader's processor time", lab.CPUPerOp, overTCP(inPlaceWays, func(env lab.Env) string {
			return frameKind{env.Seed, 256, 1024}.String()
		})),
	}
}

var inPlaceWays = []way{
	{"readfull", "io.ReadFull straight from the source: a read for the header and one for the payload", func(src io.Reader, p place) (walk, func()) {
		return oneBuffer(src, p), nil
	}},
	pick(plainWays, "reuse")[0].called("readfull-bufio", "io.ReadFull from a bufio.Reader of 64 KiB"),
	floorWays[0].called("raw-by-hand", "Read into a buffer of 64 KiB and a parser written for it"),
	{"bufio-view", "Peek(Buffered()) on a bufio.Reader of 64 KiB, parsed in place", func(src io.Reader, _ place) (walk, func()) {
		r := bufio.NewReaderSize(src, 64<<10)
		return parsed(func() []byte {
			p, _ := r.Peek(r.Buffered()) // what is buffered is there
			return p
		}, r.Discard, r.Peek), nil
	}},
	{"view", "our BufReader: View and Advance, parsed in place", ours(func(r *sluice.BufReader, _ format) walk {
		return parsed(r.View, func(n int) (int, error) { return n, r.Skip(n) }, r.Peek)
	})},
}

// parsed parses the frames where they lie, and asks for more when one is not whole.
func parsed(view func() []byte, discard func(int) (int, error), more func(int) ([]byte, error)) walk {
	return func(n int) (sum uint64, err error) {
		for {
			p, used, need := view(), 0, 0
			for n > 0 && need == 0 {
				rest := p[used:]
				if need = frameHead; len(rest) < need {
					break
				}
				if need += int(binary.BigEndian.Uint32(rest)); len(rest) < need {
					break
				}
				sum += mark(rest[frameHead:need])
				used += need
				need = 0
				n--
			}
			if _, err := discard(used); err != nil || n == 0 {
				return sum, err
			}
			if _, err := more(need); err != nil {
				return sum, err
			}
		}
	}
}
