package mem_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/mem"
)

// What was never made is a caller's bug, which the panic names.
func TestZeroValuesPanicWithTheirName(t *testing.T) {
	for name, f := range map[string]func(){
		"Slab.Cut":             func() { new(mem.Slab).Cut(0, 1) },
		"Slab.CutFor":          func() { new(mem.Slab).CutFor(make([]mem.Buf, 2), 0, 1) },
		"Slab.Shared":          func() { new(mem.Slab).Shared() },
		"Slab.Release":         func() { new(mem.Slab).Release() },
		"Allocator.Get":        func() { new(mem.Allocator).Get(1) },
		"Allocator.Slab":       func() { new(mem.Allocator).Slab(1) },
		"Allocator.TryGet":     func() { _, _ = new(mem.Allocator).TryGet(5000) },
		"Allocator.TrySlab":    func() { _, _ = new(mem.Allocator).TrySlab(0) },
		"Allocator.GetContext": func() { _, _ = new(mem.Allocator).GetContext(context.Background(), 5<<20) },
		"Allocator.Stats":      func() { new(mem.Allocator).Stats() },
		"Allocator.Malloc":     func() { new(mem.Allocator).Malloc(1) },
		"Allocator.Read":       func() { _, _ = new(mem.Allocator).Read(strings.NewReader("x"), 1) },
	} {
		kind, method, _ := strings.Cut(name, ".")
		wants := []string{"mem: " + kind}
		if kind == "Slab" {
			wants[0] += "." + method
		}
		mustPanic(t, "the zero "+name, f, wants...)
	}
}

func TestReleasedSlabPanicsWithItsName(t *testing.T) {
	s := mem.New(mem.Options{}).Slab(10)
	s.Release()
	mustPanic(t, "Cut", func() { s.Cut(0, 1) }, "mem: Slab.Cut", "released")
}
