package bytepool_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/bytepool"
)

// panicOf returns what f panics with, as text.
func panicOf(f func()) (message string) {
	defer func() {
		if v := recover(); v != nil {
			message = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}

func TestConstructorsPanicOnImpossibleSizes(t *testing.T) {
	constructors := map[string]func(size, capacity int){
		"NewBytePool":    func(s, c int) { bytepool.NewBytePool(s, c) },
		"NewBufferPool":  func(s, c int) { bytepool.NewBufferPool(s, c) },
		"NewByteFixPool": func(s, c int) { bytepool.NewByteFixPool(3, s, c) },
		"NewBudgetPool":  func(s, c int) { bytepool.NewBudgetPool(math.MaxInt64, s, c) },
	}
	sizes := []struct {
		size, capacity int
		ok             bool
	}{
		{0, 1, true}, {1, 1, true}, {7, 8, true}, {4096, 65536, true},
		{9, 8, false}, {1, 0, false}, {-1, 8, false}, {-2, -1, false}, {0, -1, false}, {math.MaxInt, math.MaxInt - 1, false},
	}
	for name, construct := range constructors {
		for _, s := range sizes {
			got := panicOf(func() { construct(s.size, s.capacity) })
			if s.ok {
				if got != "" {
					t.Errorf("%s(%d, %d) panicked: %s", name, s.size, s.capacity, got)
				}
				continue
			}
			want := fmt.Sprintf("bytepool: %s: size of %d bytes with a capacity of %d", name, s.size, s.capacity)
			if got != want {
				t.Errorf("%s(%d, %d) panicked with %q, want %q", name, s.size, s.capacity, got, want)
			}
		}
	}
}

func TestByteFixPoolPanicsOnNegativeCache(t *testing.T) {
	got := panicOf(func() { bytepool.NewByteFixPool(-4, 1, 2) })
	if want := "bytepool: NewByteFixPool: cache of -4 slices, 0 to 134217728 are possible"; got != want {
		t.Fatalf("panicked with %q, want %q", got, want)
	}
}

func TestBudgetPoolPanicsWhenNothingFits(t *testing.T) {
	for _, c := range []struct {
		budget         int64
		size, capacity int
	}{
		{1023, 0, 1024}, {0, 0, 1}, {-1, 0, 1}, {math.MinInt64, 1, 1}, {1 << 20, 0, 0},
	} {
		got := panicOf(func() { bytepool.NewBudgetPool(c.budget, c.size, c.capacity) })
		for _, part := range []string{"bytepool: NewBudgetPool: ", fmt.Sprint(c.budget), fmt.Sprint(c.capacity)} {
			if !strings.Contains(got, part) {
				t.Errorf("NewBudgetPool(%d, %d, %d) panicked with %q, which lacks %q", c.budget, c.size, c.capacity, got, part)
			}
		}
	}
}

func TestPoolsThatNoConstructorMadePanic(t *testing.T) {
	var budget bytepool.BudgetPool
	for name, f := range map[string]func(){
		"BytePool.Get":          func() { new(bytepool.BytePool).Get() },
		"ByteFixPool.Get":       func() { new(bytepool.ByteFixPool).Get() },
		"BufferPool.Get":        func() { new(bytepool.BufferPool).Get() },
		"BudgetPool.TryGet":     func() { _, _ = budget.TryGet() },
		"BudgetPool.GetContext": func() { _, _ = budget.GetContext(t.Context()) },
		"BudgetPool.GetOrMake":  func() { budget.GetOrMake() },
	} {
		kind, _, _ := strings.Cut(name, ".")
		if got := panicOf(f); !strings.HasPrefix(got, "bytepool: "+kind) {
			t.Errorf("the zero %s panics with %q", name, got)
		}
	}
	if budget.Put(nil) || budget.Put([]byte{}) {
		t.Error("the zero BudgetPool takes a slice")
	}
}
