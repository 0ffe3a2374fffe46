package scenarios

import (
	"runtime"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

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

func (k poolKind) alone(size int) lab.Runner {
	pair := k.open(size).pair
	return runner{run: func(ops int) (lab.Sample, error) { return lab.Sample{Check: pair(ops)}, nil }}
}

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

func (k poolKind) across(size int) lab.Runner { return k.open(size).across() }

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
