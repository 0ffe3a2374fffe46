package bytepool_test

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/sluice-go/sluice/bytepool"
	"github.com/sluice-go/sluice/internal/sys"
)

// slicePool is what BytePool, ByteFixPool and BudgetPool have in common.
type slicePool interface {
	Get() []byte
	Put([]byte) bool
}

// budgetSlices gets without failing, within the budget.
type budgetSlices struct{ *bytepool.BudgetPool }

func (p budgetSlices) Get() []byte {
	b, err := p.TryGet()
	if err != nil {
		panic(err)
	}
	return b
}

type maker struct {
	name string
	// knows says that the pool takes back only what it handed out.
	knows bool
	make  func(size, capacity int) slicePool
}

var makers = []maker{
	{"BytePool", false, func(s, c int) slicePool { return bytepool.NewBytePool(s, c) }},
	{"ByteFixPool", false, func(s, c int) slicePool { return bytepool.NewByteFixPool(64, s, c) }},
	{"BudgetPool", true, func(s, c int) slicePool { return budgetSlices{bytepool.NewBudgetPool(64*int64(c), s, c)} }},
}

func eachPool(t *testing.T, f func(t *testing.T, m maker)) {
	for _, m := range makers {
		t.Run(m.name, func(t *testing.T) { f(t, m) })
	}
}

// array is the address of the first byte of b's array: the identity of b.
func array(b []byte) *byte { return &b[:1][0] }

func TestGetHasTheSizeAndTheCapacity(t *testing.T) {
	eachPool(t, func(t *testing.T, m maker) {
		for _, s := range []struct{ size, capacity int }{{0, 1}, {1, 1}, {0, 13}, {13, 13}, {100, 1000}, {1024, 1024}, {0, 65536}, {65535, 65537}} {
			p := m.make(s.size, s.capacity)
			for i := range 8 {
				b := p.Get()
				if len(b) != s.size || cap(b) != s.capacity {
					t.Fatalf("Get %d: length %d and capacity %d, want %d and %d", i, len(b), cap(b), s.size, s.capacity)
				}
				// Any length may come back: the next Get has the pool's again.
				if !p.Put(b[:i*s.capacity/8]) {
					t.Fatalf("Put %d of a slice from Get was refused", i)
				}
			}
		}
	})
}

func TestPutIsFollowedByReuse(t *testing.T) {
	eachPool(t, func(t *testing.T, m maker) {
		p := m.make(0, 4096)
		first := p.Get()
		was := array(first)
		p.Put(first)
		// A sync.Pool forgets at random under the race detector, and the
		// goroutine may have been moved; not a hundred times in a row.
		for range 100 {
			b := p.Get()
			if array(b) == was {
				return
			}
			was = array(b)
			p.Put(b)
		}
		t.Fatal("no slice that was put back was got again in 100 rounds")
	})
}

func TestPutRefusesForeignSizes(t *testing.T) {
	eachPool(t, func(t *testing.T, m maker) {
		const size, capacity = 100, 1000
		p := m.make(size, capacity)
		foreign := map[string][]byte{
			"nil":           nil,
			"empty":         {},
			"smaller":       make([]byte, size, capacity-1),
			"larger":        make([]byte, size, capacity+1),
			"much larger":   make([]byte, 1<<20),
			"tail":          p.Get()[1:],
			"clipped":       p.Get()[:10:10],
			"outgrown":      append(p.Get(), make([]byte, capacity)...),
			"end of itself": p.Get()[:capacity][capacity:],
		}
		for name, b := range foreign {
			if p.Put(b) {
				t.Errorf("Put took the slice %q: length %d, capacity %d", name, len(b), cap(b))
			}
		}
		for range 20 {
			if b := p.Get(); len(b) != size || cap(b) != capacity {
				t.Fatalf("after the refusals Get returned length %d, capacity %d", len(b), cap(b))
			}
		}
	})
}

func TestPutOfForeignSliceWithTheRightCapacity(t *testing.T) {
	eachPool(t, func(t *testing.T, m maker) {
		p := m.make(0, 512)
		if took := p.Put(make([]byte, 17, 512)); took == m.knows {
			t.Fatalf("Put returned %v", took)
		}
		if b := p.Get(); len(b) != 0 || cap(b) != 512 {
			t.Fatalf("Get returned length %d, capacity %d", len(b), cap(b))
		}
	})
}

func TestPoolsWithoutCapacityKeepNothing(t *testing.T) {
	for _, m := range makers {
		if m.knows {
			continue // refuses to be made
		}
		p := m.make(0, 0)
		b := p.Get()
		if b == nil || len(b) != 0 || cap(b) != 0 {
			t.Errorf("%s: Get returned %#v", m.name, b)
		}
		if p.Put(b) || p.Put(nil) {
			t.Errorf("%s: Put took an empty slice", m.name)
		}
	}
}

func TestGetAndPutAllocateNothing(t *testing.T) {
	if sys.Race {
		t.Skip("a sync.Pool drops at random under the race detector")
	}
	eachPool(t, func(t *testing.T, m maker) {
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		p := m.make(64, 4096)
		// Warm up: the first Get may allocate a slice, and the pool's map may grow.
		p.Put(p.Get())
		if n := testing.AllocsPerRun(1000, func() { p.Put(p.Get()) }); n != 0 {
			t.Fatalf("Get and Put allocate %v times", n)
		}
		foreign := make([]byte, 10)
		if n := testing.AllocsPerRun(1000, func() { p.Put(foreign) }); n != 0 {
			t.Fatalf("a refused Put allocates %v times", n)
		}
	})
}

func TestMemoryStaysAliveInThePool(t *testing.T) {
	eachPool(t, func(t *testing.T, m maker) {
		p := m.make(0, 256)
		for round := range 50 {
			b := p.Get()[:256]
			for i := range b {
				b[i] = byte(round)
			}
			p.Put(b)
			// The address in the pool must be one that the collector sees:
			// what is allocated now must not come to lie in a slice that is
			// got next.
			runtime.GC()
			junk := make([][]byte, 64)
			for i := range junk {
				junk[i] = make([]byte, 256)
			}
			b = p.Get()[:256]
			for i := range b {
				b[i] = 0xff
			}
			for _, j := range junk {
				for _, x := range j {
					if x != 0 {
						t.Fatalf("round %d: a slice from Get lies in memory that the collector gave to somebody else", round)
					}
				}
			}
			p.Put(b)
		}
	})
}

// Goroutines hold some slices each, at random, and sign them; a slice with two
// owners shows as a foreign signature, and as a race.
func TestOneOwnerAtATime(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	eachPool(t, func(t *testing.T, m maker) {
		const goroutines, most = 8, 8
		p := m.make(16, 32)
		var wg sync.WaitGroup
		for g := range goroutines {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(seed, uint64(g)))
				var held [][]byte
				for range 2000 {
					if len(held) == 0 || len(held) < most && rnd.IntN(2) == 0 {
						b := p.Get()
						for i := range b {
							b[i] = byte(g)
						}
						held = append(held, b)
						continue
					}
					i := rnd.IntN(len(held))
					for _, x := range held[i] {
						if x != byte(g) {
							t.Errorf("seed %d: slice of goroutine %d was signed by %d", seed, g, x)
							return
						}
					}
					if !p.Put(held[i]) && m.name != "ByteFixPool" {
						t.Errorf("seed %d: Put was refused", seed)
						return
					}
					held[i] = held[len(held)-1]
					held = held[:len(held)-1]
				}
			})
		}
		wg.Wait()
	})
}
