package scenarios

import (
	"encoding/binary"
	"reflect"
	"sync/atomic"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// This machine: what the placing of words in memory costs, in which order memory is
// walked, and on Linux what a system call costs. The rest of the lab stands on that:
// counters of this library stand on lines of their own, headers of odd lengths do no
// harm, sends are merged.

var _ = register(180, machineGroup)

func machineGroup() []lab.Scenario {
	return []lab.Scenario{
		machineScenario("false-sharing", "two goroutines, each adding to a counter of its own", "add", 2_000_000,
			counters("apart-128", "128 bytes apart: nothing is shared", 128),
			counters("apart-64", "64 bytes apart: a line for each, of a pair that some processors fetch together", 64),
			counters("same-line", "the counters are neighbours: one cache line for both", 8)),
		machineScenario("alignment", "an 8-byte word read, added to and written back at places more or less even", "word", 5_000_000,
			wordAt("aligned", "at a multiple of 8", 64),
			wordAt("odd", "at an odd address inside of a cache line", 64+13),
			wordAt("across-lines", "half in one cache line and half in the next", 128-4),
			wordAt("across-pages", "half in one page and half in the next", 4096-4)),
		machineScenario("memory", "32 MiB read once, a word of 8 bytes at a time", "pass", 1,
			pass("sequential", "in order, as the processor expects", 1),
			pass("lines", "a word of each cache line, then the next word of each", 8),
			pass("pages", "a word of each page, then the next word of each", 512)),
	}
}

func machineScenario(name, title, op string, ops int, variants ...lab.Variant) lab.Scenario {
	return lab.Scenario{Name: "machine/" + name, Title: title, Op: op, Metric: lab.NsPerOp, Baseline: variants[0].Name, Ops: ops, Variants: variants}
}

func machineVariant(name, about string, open func() (lab.Runner, error)) lab.Variant {
	return lab.Variant{Name: name, About: about, Open: func(lab.Env) (lab.Runner, error) { return open() }}
}

func counters(name, about string, apart int) lab.Variant {
	return machineVariant(name, about, func() (lab.Runner, error) {
		words, step := make([]atomic.Uint64, 4096/8), apart/8 // an array of this size starts on a line of its own
		c := newWorkerPool(2, func(i, n int) error {
			word := &words[i*step]
			for range n {
				word.Add(1)
			}
			return nil
		})
		return runner{func(ops int) (lab.Sample, error) {
			before := words[0].Load() + words[step].Load()
			err := c.run(ops)
			return lab.Sample{Check: words[0].Load() + words[step].Load() - before}, err
		}, c.stop}, nil
	})
}

func wordAt(name, about string, at int) lab.Variant {
	return machineVariant(name, about, func() (lab.Runner, error) {
		const page = 4096
		b := make([]byte, 3*page)
		from := at + (page-int(reflect.ValueOf(b).Pointer()%page))%page
		word := b[from : from+8]
		return runner{run: func(ops int) (lab.Sample, error) {
			before := binary.LittleEndian.Uint64(word)
			for range ops {
				binary.LittleEndian.PutUint64(word, binary.LittleEndian.Uint64(word)+1)
			}
			return lab.Sample{Check: binary.LittleEndian.Uint64(word) - before}, nil
		}}, nil
	})
}

// pass reads all words once, each so many words behind the last: equal work, and a sum
// that does not depend on the order.
func pass(name, about string, stride int) lab.Variant {
	return machineVariant(name, about, func() (lab.Runner, error) {
		words := make([]uint64, 32<<20/8)
		for i := range words {
			words[i] = uint64(i)
		}
		return runner{run: func(ops int) (out lab.Sample, err error) {
			for range ops {
				for from := range stride {
					for i := from; i < len(words); i += stride {
						out.Check += words[i]
					}
				}
			}
			out.Bytes = int64(ops) * int64(len(words)) * 8
			return out, nil
		}}, nil
	})
}
