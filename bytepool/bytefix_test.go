package bytepool_test

import (
	"runtime"
	"testing"

	"github.com/sluice-go/sluice/bytepool"
)

func TestByteFixPoolKeepsNoMoreThanItsCache(t *testing.T) {
	for _, cache := range []int{0, 1, 5} {
		p := bytepool.NewByteFixPool(cache, 8, 16)
		var all [][]byte
		for range cache + 3 {
			all = append(all, p.Get())
		}
		for i, b := range all {
			if kept := p.Put(b); kept != (i < cache) {
				t.Errorf("cache of %d: Put %d returned %v", cache, i, kept)
			}
		}
		// First in, first out; then new ones.
		for i := range cache + 3 {
			if same := array(p.Get()) == array(all[i]); same != (i < cache) {
				t.Errorf("cache of %d: Get %d returned what was put: %v", cache, i, same)
			}
		}
	}
}

func TestByteFixPoolSurvivesTheCollector(t *testing.T) {
	p := bytepool.NewByteFixPool(1, 0, 64)
	b := p.Get()
	p.Put(b)
	for range 3 {
		runtime.GC()
	}
	if array(p.Get()) != array(b) {
		t.Fatal("the collector emptied the pool")
	}
}
