package scenarios

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/bytepool"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/units"
	"github.com/sluice-go/sluice/mem"
)

var _ = register(130, poolsGroup)

// poolsGroup compares pools of bytes: one operation gets a buffer, writes its
// first and its last byte, and gives it back.
func poolsGroup() []lab.Scenario {
	sizes := []struct{ bytes, ops int }{{256, 200_000}, {4 << 10, 200_000}, {64 << 10, 100_000}, {1 << 20, 100_000}}
	modes := []struct {
		name, title string
		open        func(poolKind, int) lab.Runner
		mem         float64 // the most that a counted Buf may cost, to sync.Pool
	}{
		{"one", "by one goroutine", func(k poolKind, size int) lab.Runner {
			pair := k.open(size).pair
			return runner{run: func(ops int) (lab.Sample, error) { return lab.Sample{Check: pair(ops)}, nil }}
		}, 1.4},
		{"parallel", "by a goroutine on each processor", func(k poolKind, size int) lab.Runner { return k.parallel(size) }, 1.4},
		{"across", "got in one goroutine and given back in another", func(k poolKind, size int) lab.Runner { return k.open(size).across() }, 1.25},
	}
	var group []lab.Scenario
	for _, size := range sizes {
		label := units.Exact(int64(size.bytes))
		for _, mode := range modes {
			sc := lab.Scenario{
				Name:     "pools/" + strings.ReplaceAll(label, " ", "") + "/" + mode.name,
				Title:    "pooled buffers of " + label + ", " + mode.title,
				Op:       "get+put",
				Metric:   lab.NsPerOp,
				Baseline: "sync.Pool",
				Ops:      size.ops,
				Targets: []lab.Target{
					{Variant: "mem", Against: "sync.Pool", AtMost: mode.mem},
					{Variant: "mem+budget", Against: "sync.Pool", AtMost: 2.5},
					{Variant: "BytePool", Against: "sync.Pool", AtMost: 1.1},
				},
			}
			if mode.name == "across" {
				sc.Targets = append(sc.Targets, lab.Target{Variant: "malloc", Against: "sync.Pool", AtMost: 1.7})
			}
			for _, k := range poolKinds {
				sc.Variants = append(sc.Variants, lab.Variant{
					Name: k.name, About: k.about,
					Open: func(lab.Env) (lab.Runner, error) { return mode.open(k, size.bytes), nil },
				})
			}
			group = append(group, sc)
		}
	}
	return group
}

type poolKind struct {
	name, about string
	open        func(size int) poolWork
}

type poolWork struct {
	// pair gets and gives back n buffers one after the other, safe for
	// several goroutines at once. Its loop is written out for each pool, so that no
	// call through an interface stands between the clock and the pool.
	pair func(n int) uint64
	// across starts a goroutine that gives back what another gets.
	across func() lab.Runner
}

func touch(b []byte, i int) {
	b[0] = byte(i) | 1
	b[len(b)-1] = byte(i >> 8)
}

func ends(b []byte) uint64 { return uint64(b[0]) + uint64(b[len(b)-1]) }

// aLine is longer than a cache line and than the two that some processors
// fetch together.
const aLine = 128

func (k poolKind) parallel(size int) lab.Runner {
	pair := k.open(size).pair
	sums := make([]struct {
		n uint64
		_ [aLine - 8]byte
	}, max(2, runtime.GOMAXPROCS(0)))
	c := newWorkerPool(len(sums), func(i, ops int) error {
		sums[i].n = pair(ops)
		return nil
	})
	return runner{func(ops int) (out lab.Sample, err error) {
		err = c.run(ops)
		for i := range sums {
			out.Check += sums[i].n
		}
		return out, err
	}, c.stop}
}

const acrossBatches = 4

// acrossBatch is how many buffers are in one: at most 32 MiB are on the way.
func acrossBatch(size int) int { return min(64, 8<<20/size) }

// pool makes the work of a pool whose buffers are T. get returns the i-th buffer,
// touched; put returns its ends and gives it back.
func pool[T any](size int, pair func(n int) uint64, get func(i int) T, put func(T) uint64) poolWork {
	return poolWork{pair, func() lab.Runner {
		each := acrossBatch(size)
		full, free := make(chan []T, acrossBatches), make(chan []T, acrossBatches)
		for range acrossBatches {
			free <- make([]T, each)
		}
		sums := make(chan uint64)
		go func() {
			defer close(sums)
			var sum uint64
			for b := range full {
				if b == nil {
					sums <- sum
					sum = 0
					continue
				}
				for i := range b {
					sum += put(b[i])
				}
				clear(b)
				free <- b[:each]
			}
		}()
		return runner{func(ops int) (lab.Sample, error) {
			for i := 0; i < ops; i += each {
				b := (<-free)[:min(each, ops-i)]
				for k := range b {
					b[k] = get(i + k)
				}
				full <- b
			}
			full <- nil
			return lab.Sample{Check: <-sums}, nil
		}, func() error {
			close(full)
			<-sums
			return nil
		}}
	}}
}

// poolKinds are all pools, the baseline first, then the floors, then ours.
var poolKinds = []poolKind{
	{"sync.Pool", "a sync.Pool of pointers to slices", func(size int) poolWork {
		p := &sync.Pool{New: func() any { b := make([]byte, size); return &b }}
		return pool(size, func(n int) (sum uint64) {
			for i := range n {
				b := p.Get().(*[]byte)
				touch(*b, i)
				sum += ends(*b)
				p.Put(b)
			}
			return sum
		}, func(i int) *[]byte {
			b := p.Get().(*[]byte)
			touch(*b, i)
			return b
		}, func(b *[]byte) uint64 {
			sum := ends(*b)
			p.Put(b)
			return sum
		})
	}},
	handOver, countedFloor,
	memKind("mem", "mem: Get and Release of a counted Buf", 0),
	memKind("mem+budget", "the same with a budget that is never reached", 1<<30),
	{"malloc", "mem: Malloc and Free of a plain slice", func(size int) poolWork {
		a := mem.New(mem.Options{Name: "bench"})
		const refused = "scenarios: Free refused what Malloc gave"
		return pool(size, func(n int) (sum uint64) {
			for i := range n {
				b := a.Malloc(size)
				touch(b, i)
				sum += ends(b)
				if a.Free(b) != nil {
					panic(refused)
				}
			}
			return sum
		}, func(i int) []byte {
			b := a.Malloc(size)
			touch(b, i)
			return b
		}, func(b []byte) uint64 {
			sum := ends(b)
			if a.Free(b) != nil {
				panic(refused)
			}
			return sum
		})
	}},
	{"BytePool", "bytepool.BytePool", func(size int) poolWork {
		p := bytepool.NewBytePool(size, size)
		return pool(size, func(n int) (sum uint64) {
			for i := range n {
				b := p.Get()
				touch(b, i)
				sum += ends(b)
				p.Put(b)
			}
			return sum
		}, func(i int) []byte {
			b := p.Get()
			touch(b, i)
			return b
		}, func(b []byte) uint64 {
			sum := ends(b)
			p.Put(b)
			return sum
		})
	}},
}

// memKind is a counted Buf of an allocator with a budget; 0 is none. It is not
// inlined: in closures that the compiler copies into the package's large
// initialization it calls Bytes, touch and ends, which it inlines elsewhere.
//
//go:noinline
func memKind(name, about string, budget int64) poolKind {
	return poolKind{name, about, func(size int) poolWork {
		a := mem.New(mem.Options{Name: "bench", Budget: budget})
		return pool(size, func(n int) (sum uint64) {
			for i := range n {
				b := a.Get(size)
				p := b.Bytes()
				touch(p, i)
				sum += ends(p)
				b.Release()
			}
			return sum
		}, func(i int) mem.Buf {
			b := a.Get(size)
			touch(b.Bytes(), i)
			return b
		}, func(b mem.Buf) uint64 {
			sum := ends(b.Bytes())
			b.Release()
			return sum
		})
	}}
}

// handOver is the floor of every pool: what using a buffer and passing it to another
// goroutine cost without one. Buffers are used again in the order in which they
// come back, which only this benchmark makes sure of.
var handOver = poolKind{"no-pool", "floor of every pool: the same buffers again and again, without a pool", func(size int) poolWork {
	// More than are under way between two goroutines, see pool.
	buffers := make([][]byte, (acrossBatches+1)*acrossBatch(size))
	for i := range buffers {
		buffers[i] = make([]byte, size)
	}
	return pool(size, func(n int) (sum uint64) {
		b := make([]byte, size) // of this goroutine alone
		for i := range n {
			touch(b, i)
			sum += ends(b)
		}
		return sum
	}, func(i int) []byte {
		b := buffers[i%len(buffers)]
		touch(b, i)
		return b
	}, ends)
}}

// countedFloor is the floor of counted memory over a sync.Pool: it adds the one
// compare-and-swap by which the last holder is found out.
var countedFloor = poolKind{"pool-cas", "floor of counted memory: a sync.Pool of pointers, and one compare-and-swap for each release", func(size int) poolWork {
	type block struct {
		word atomic.Uint64
		b    []byte
	}
	p := &sync.Pool{New: func() any { return &block{b: make([]byte, size)} }}
	return pool(size, func(n int) (sum uint64) {
		for i := range n {
			k := p.Get().(*block)
			touch(k.b, i)
			sum += ends(k.b)
			if w := k.word.Load(); k.word.CompareAndSwap(w, w+1) {
				p.Put(k)
			}
		}
		return sum
	}, func(i int) *block {
		k := p.Get().(*block)
		touch(k.b, i)
		return k
	}, func(k *block) uint64 {
		sum := ends(k.b)
		if w := k.word.Load(); k.word.CompareAndSwap(w, w+1) {
			p.Put(k)
		}
		return sum
	})
}}
