package mem_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/mem"
)

// bufKinds makes a Buf of four bytes at least of each origin.
var bufKinds = []struct {
	name string
	make func(a *mem.Allocator) mem.Buf
}{
	{"pooled", func(a *mem.Allocator) mem.Buf { return a.Get(5000) }},
	{"smallest", func(a *mem.Allocator) mem.Buf { return a.Get(4) }},
	{"above the classes", func(a *mem.Allocator) mem.Buf { return a.Get(4<<20 + 1) }},
	{"wrapped", func(a *mem.Allocator) mem.Buf { return mem.Wrap(make([]byte, 10), nil) }},
	{"retained", func(a *mem.Allocator) mem.Buf {
		b := a.Get(5000)
		defer b.Release()
		return b.Retain()
	}},
	{"small view", func(a *mem.Allocator) mem.Buf {
		b := a.Get(5000)
		defer b.Release()
		return b.RetainedSlice(7, 11)
	}},
	{"shared", func(a *mem.Allocator) mem.Buf {
		b := a.Get(5000)
		defer b.Release()
		var c [1]mem.Buf
		b.Share(c[:])
		return c[0]
	}},
	{"cut from a slab", func(a *mem.Allocator) mem.Buf {
		s := a.Slab(5000)
		defer s.Release()
		return s.Cut(100, 200)
	}},
	{"of the last generation", func(a *mem.Allocator) mem.Buf { return a.Get(5000).AtGeneration(mem.LastGeneration) }},
}

// bufCalls calls each method of a Buf; the name before the first space is the
// one that the panic must have.
var bufCalls = []struct {
	name string
	call func(b *mem.Buf)
}{
	{"Buf.Bytes", func(b *mem.Buf) { b.Bytes() }},
	{"Buf.Len", func(b *mem.Buf) { b.Len() }},
	{"Buf.Retain", func(b *mem.Buf) { b.Retain() }},
	{"Buf.RetainedSlice", func(b *mem.Buf) { b.RetainedSlice(0, 4) }},
	{"Buf.RetainedSlice of nothing", func(b *mem.Buf) { b.RetainedSlice(0, 0) }},
	{"Buf.Share", func(b *mem.Buf) { b.Share(make([]mem.Buf, 2)) }},
	{"Buf.Share with no holder", func(b *mem.Buf) { b.Share(nil) }},
	{"Buf.Release", func(b *mem.Buf) { b.Release() }},
	{"Buf.Compact", func(b *mem.Buf) { b.Compact() }},
	{"slabOf", func(b *mem.Buf) { mem.SlabOf(*b) }},
	{"Buf.Bytes by NewMemory", func(b *mem.Buf) { mem.NewMemory(*b) }},
	{"Buf.Bytes by Append", func(b *mem.Buf) { new(mem.Memory).Append(*b) }},
}

var leakLevels = []mem.Level{mem.LeakOff, mem.LeakSample, mem.LeakTrace, mem.LeakParanoid}

func TestEveryMethodOfAStaleBufPanicsAndChangesNothing(t *testing.T) {
	for _, level := range leakLevels {
		a := mem.New(mem.Options{Leak: level})
		for _, kind := range bufKinds {
			for _, c := range bufCalls {
				what := c.name + " of a stale Buf, " + kind.name + ", level " + level.String()
				b := kind.make(a)
				if !b.Valid() {
					t.Fatalf("a new Buf is not valid: %s", kind.name)
				}
				stale := b
				b.Release()
				if b.Valid() || stale.Valid() {
					t.Errorf("%s: Valid after Release", what)
				}
				// The block's new holder must not be affected.
				next := a.Get(5000)
				before := a.Stats()
				copy(next.Bytes(), "mine")
				name, _, _ := strings.Cut(c.name, " ")
				use := stale
				mustPanic(t, what, func() { c.call(&use) }, "mem: "+name+": ", "released")
				if string(next.Bytes()[:4]) != "mine" || next.Holders() != 1 {
					t.Fatalf("%s: the block's new owner has %d references and %q", what, next.Holders(), next.Bytes()[:4])
				}
				if after := a.Stats(); after.CheckedOut != before.CheckedOut {
					t.Errorf("%s: %d blocks are out, before it %d", what, after.CheckedOut, before.CheckedOut)
				}
				next.Release()
				mustPanic(t, what+", emptied", func() { c.call(&b) }, "mem: "+name+": ", "released")
			}
		}
		if leaks := a.Leaks(); len(leaks) != 0 && level >= mem.LeakTrace {
			t.Errorf("level %v: %d references are outstanding: %v", level, len(leaks), leaks)
		}
		if out := a.Stats().CheckedOut; out != 0 {
			t.Errorf("level %v: %d blocks are out", level, out)
		}
	}
}

func TestEveryMethodOfTheZeroBufPanics(t *testing.T) {
	for _, c := range bufCalls {
		var b mem.Buf
		name, _, _ := strings.Cut(c.name, " ")
		mustPanic(t, c.name+" of the zero Buf", func() { c.call(&b) }, "mem: "+name+": ")
	}
	if (mem.Buf{}).Valid() {
		t.Error("the zero Buf is valid")
	}
}

func TestStaleBufTestsKnowEveryMethod(t *testing.T) {
	// Valid is the one that answers instead.
	known := map[string]bool{"Valid": true,
		"AtGeneration": true, "Generation": true, "Holders": true, "Children": true, "AddChildren": true, "BlockSize": true} // of export_test.go
	for _, c := range bufCalls {
		name, _, _ := strings.Cut(c.name, " ")
		known[strings.TrimPrefix(name, "Buf.")] = true
	}
	p := reflect.TypeFor[*mem.Buf]()
	for i := range p.NumMethod() {
		if name := p.Method(i).Name; !known[name] {
			t.Errorf("Buf has the method %s, which no test of stale Bufs calls", name)
		}
	}
}

func TestBoundsOfASlicePanicWithTheNumbers(t *testing.T) {
	a := mem.New(mem.Options{})
	b := a.Get(10)
	defer b.Release()
	for _, x := range [][2]int{{-1, 3}, {0, 11}, {4, 3}, {11, 11}, {5, -1}} {
		i, j := x[0], x[1]
		mustPanic(t, "RetainedSlice", func() { b.RetainedSlice(i, j) }, "mem: Buf.RetainedSlice(", "of 10 bytes")
	}
	if b.Holders() != 1 {
		t.Errorf("refused slices left %d references", b.Holders())
	}
	if p := b.Bytes(); len(p) != 10 || cap(p) != 10 {
		t.Errorf("Bytes has length %d and capacity %d: append could write into a neighbour", len(p), cap(p))
	}
}

func TestReferencesNeverReachTheGeneration(t *testing.T) {
	a := mem.New(mem.Options{})
	b := a.Get(10)
	b.AddChildren(mem.MaxChildren - 1)
	all := make([]mem.Buf, mem.MaxHolders-1)
	b.Share(all)
	generation := b.Generation()
	all = append(all, b.Retain(), b.Retain(), b.RetainedSlice(0, 1), mem.Buf{}, mem.Buf{})
	b.Share(all[len(all)-2:])
	if b.Generation() != generation || !b.Valid() || b.Children() != mem.MaxChildren {
		t.Errorf("generation %d, want %d; %d children, want %d", b.Generation(), generation, b.Children(), mem.MaxChildren)
	}
	for i := range all {
		all[i].Release()
	}
	b.AddChildren(-(mem.MaxChildren - 1))
	if b.Holders() != 1 || !b.Valid() {
		t.Errorf("%d references are left, want 1", b.Holders())
	}
	b.Release()
}
