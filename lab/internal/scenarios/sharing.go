package scenarios

import (
	"encoding/binary"
	"reflect"
	"sync/atomic"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

var _ = register(180, sharingGroup)

// sharingGroup shows what the placing of words in memory costs: why counters
// of this library stand on lines of their own, and why headers of odd lengths
// do no harm.
func sharingGroup() []lab.Scenario {
	lines := lab.Scenario{
		Name:     "false-sharing",
		Title:    "two goroutines, each adding to a counter of its own",
		Op:       "add",
		Metric:   lab.NsPerOp,
		Baseline: "apart-128",
		Ops:      2_000_000,
	}
	for _, v := range []struct {
		name, about string
		apart       int // bytes
	}{
		{"same-line", "the counters are neighbours: one cache line for both", 8},
		{"apart-64", "64 bytes apart: a line for each, of a pair that some processors fetch together", 64},
		{"apart-128", "128 bytes apart: nothing is shared", 128},
	} {
		lines.Variants = append(lines.Variants, lab.Variant{Name: v.name, About: v.about, Open: func(lab.Env) (lab.Runner, error) {
			return newCounters(v.apart), nil
		}})
	}
	words := lab.Scenario{
		Name:     "alignment",
		Title:    "an 8-byte word read, added to and written back at places more or less even",
		Op:       "word",
		Metric:   lab.NsPerOp,
		Baseline: "aligned",
		Ops:      5_000_000,
	}
	for _, v := range []struct {
		name, about string
		at          int // bytes after the start of a page
	}{
		{"aligned", "at a multiple of 8", 64},
		{"odd", "at an odd address inside of a cache line", 64 + 13},
		{"across-lines", "half in one cache line and half in the next", 128 - 4},
		{"across-pages", "half in one page and half in the next", 4096 - 4},
	} {
		words.Variants = append(words.Variants, lab.Variant{Name: v.name, About: v.about, Open: func(lab.Env) (lab.Runner, error) {
			page := pages(2)
			return &wordRunner{page[v.at : v.at+8]}, nil
		}})
	}
	return []lab.Scenario{lines, words}
}

// counters are two words of one array and the goroutines that add to them.
type counters struct {
	words []atomic.Uint64
	step  int // words between the two
	crew  *crew
}

func newCounters(apart int) *counters {
	c := &counters{words: make([]atomic.Uint64, 4096/8), step: apart / 8}
	// An array of this size starts on a line of its own.
	c.crew = newCrew(2, func(i, n int) error {
		word := &c.words[i*c.step]
		for range n {
			word.Add(1)
		}
		return nil
	})
	return c
}

func (c *counters) Run(ops int) (lab.Sample, error) {
	before := c.words[0].Load() + c.words[c.step].Load()
	err := c.crew.run(ops)
	return lab.Sample{Check: c.words[0].Load() + c.words[c.step].Load() - before}, err
}

func (c *counters) Close() error {
	c.crew.stop()
	return nil
}

// pages returns n pages of 4 KiB that begin at the start of one.
func pages(n int) []byte {
	const page = 4096
	b := make([]byte, (n+1)*page)
	odd := int(reflect.ValueOf(b).Pointer() % page)
	at := (page - odd) % page
	return b[at : at+n*page]
}

// wordRunner adds to a word that lies somewhere.
type wordRunner struct{ word []byte }

func (w *wordRunner) Run(ops int) (lab.Sample, error) {
	before := binary.LittleEndian.Uint64(w.word)
	p := w.word
	for range ops {
		binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)+1)
	}
	return lab.Sample{Check: binary.LittleEndian.Uint64(w.word) - before}, nil
}

func (*wordRunner) Close() error { return nil }
