package bytepool_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/sluice-go/sluice/bytepool"
)

const oneGet = 4096

// BenchmarkGetPut is one Get and one Put of a 4 KiB slice of which the first
// and the last byte are written. The first two variants are what one writes
// without this package: a sync.Pool of pointers, to the slice or to an array.
func BenchmarkGetPut(b *testing.B) {
	slices := sync.Pool{New: func() any { s := make([]byte, oneGet); return &s }}
	arrays := sync.Pool{New: func() any { return new([oneGet]byte) }}
	headers := sync.Pool{New: func() any { return make([]byte, oneGet) }}
	bytePool := bytepool.NewBytePool(oneGet, oneGet)
	fixPool := bytepool.NewByteFixPool(64, oneGet, oneGet)
	budgetPool := bytepool.NewBudgetPool(64*oneGet, oneGet, oneGet)

	variants := []struct {
		name string
		loop func(n int)
	}{
		{"pointer-to-slice", func(n int) {
			for range n {
				p := slices.Get().(*[]byte)
				s := *p
				s[0], s[oneGet-1] = 1, 1
				slices.Put(p)
			}
		}},
		{"pointer-to-array", func(n int) {
			for range n {
				p := arrays.Get().(*[oneGet]byte)
				s := p[:]
				s[0], s[oneGet-1] = 1, 1
				arrays.Put(p)
			}
		}},
		{"slice-header", func(n int) {
			for range n {
				s := headers.Get().([]byte)
				s[0], s[oneGet-1] = 1, 1
				//lint:ignore SA6002 the allocation is what this variant shows
				headers.Put(s)
			}
		}},
		{"BytePool", func(n int) {
			for range n {
				s := bytePool.Get()
				s[0], s[oneGet-1] = 1, 1
				bytePool.Put(s)
			}
		}},
		{"ByteFixPool", func(n int) {
			for range n {
				s := fixPool.Get()
				s[0], s[oneGet-1] = 1, 1
				fixPool.Put(s)
			}
		}},
		{"BudgetPool", func(n int) {
			for range n {
				s, err := budgetPool.TryGet()
				if err != nil {
					panic(err)
				}
				s[0], s[oneGet-1] = 1, 1
				budgetPool.Put(s)
			}
		}},
	}
	for _, v := range variants {
		b.Run("alone/"+v.name, func(b *testing.B) {
			b.ReportAllocs()
			v.loop(b.N)
		})
		b.Run("parallel/"+v.name, func(b *testing.B) {
			b.ReportAllocs()
			procs := runtime.GOMAXPROCS(0)
			var wg sync.WaitGroup
			for range procs {
				wg.Go(func() { v.loop(b.N / procs) })
			}
			wg.Wait()
		})
	}
}
