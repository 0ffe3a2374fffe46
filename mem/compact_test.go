package mem_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/sluice-go/sluice/mem"
)

func TestCompactFollowsItsRule(t *testing.T) {
	for _, level := range leakLevels {
		a := mem.New(mem.Options{Leak: level})
		for _, c := range []struct {
			block, kept int
			want        bool
		}{
			{2048, 1, false},
			{2048, 0, false},
			{4096, 513, false},
			{4096, 512, true},
			{4096, 0, true},
			{65536, 8193, false},
			{65536, 8192, true},
			{65536, 100, true},
			{4<<20 + 8, 512 << 10, true},
		} {
			b := a.Get(c.block)
			for i, p := 0, b.Bytes(); i < len(p); i++ {
				p[i] = byte(i % 251)
			}
			want := bytes.Clone(b.Bytes()[c.block-c.kept:])
			v := b.RetainedSlice(c.block-c.kept, c.block)
			b.Release()
			what := fmt.Sprintf("%d of %d bytes, level %v", c.kept, c.block, level)
			if got := v.Compact(); got != c.want {
				t.Errorf("%s: Compact is %v", what, got)
			}
			if !bytes.Equal(v.Bytes(), want) {
				t.Errorf("%s: other bytes after Compact", what)
			}
			size := v.BlockSize()
			if c.want && size != a.Cap(c.kept) || !c.want && size != c.block {
				t.Errorf("%s: the block has %d bytes after Compact", what, size)
			}
			if s := a.Stats(); s.CheckedOut != 1 || s.OutBytes != int64(size) {
				t.Errorf("%s: %d blocks with %d bytes are out", what, s.CheckedOut, s.OutBytes)
			}
			if v.Compact() && c.kept > 0 {
				t.Errorf("%s: Compact of what was compacted", what)
			}
			v.Release()
		}
	}
}

func TestCompactLeavesOtherHoldersAlone(t *testing.T) {
	a := mem.New(mem.Options{})
	b := a.Get(8192)
	copy(b.Bytes(), "hello")
	v, w := b.RetainedSlice(0, 5), b.RetainedSlice(1, 5)
	b.Release()
	if !v.Compact() {
		t.Fatal("not compacted")
	}
	if v.Holders() != 1 || w.Holders() != 1 || string(v.Bytes()) != "hello" || string(w.Bytes()) != "ello" {
		t.Errorf("%d holders of %q, %d of %q", v.Holders(), v.Bytes(), w.Holders(), w.Bytes())
	}
	v.Release()
	w.Release()
}

func TestCompactOfWrappedMemoryFreesIt(t *testing.T) {
	freed := 0
	b := mem.Wrap(make([]byte, 1<<20), func() { freed++ })
	v := b.RetainedSlice(3, 9)
	b.Release()
	if !v.Compact() || freed != 1 || v.Len() != 6 {
		t.Errorf("freed %d times, %d bytes", freed, v.Len())
	}
	v.Release()
}

// A view is n bytes at one place of a block of its own, or of the block of
// the view before it when it names no size.
type view struct{ size, n, at int }

// views makes a Buf of each, with contents that follow from the place.
func views(a *mem.Allocator, list []view) (bufs []mem.Buf) {
	var s mem.Slab
	for _, v := range list {
		if v.size > 0 {
			if s.Valid() {
				s.Release()
			}
			s = a.Slab(v.size)
			for i, p := 0, s.Bytes(); i < len(p); i++ {
				p[i] = byte(i % 253)
			}
		}
		bufs = append(bufs, s.Cut(v.at, v.n))
	}
	if s.Valid() {
		s.Release()
	}
	return bufs
}

func TestCompactOfAMemoryCountsNeighboursInOneBlockTogether(t *testing.T) {
	var chunks []view
	for i := range 500 {
		chunks = append(chunks, view{0, 128, i * 131})
	}
	chunks[0].size = 65536
	a := mem.New(mem.Options{})
	for _, c := range []struct {
		name  string
		views []view
		want  bool
		parts int   // afterwards
		held  int64 // bytes of blocks afterwards
	}{
		{"nothing", nil, false, 0, 0},
		{"two headers in one block", []view{{65536, 100, 0}, {0, 100, 50_000}}, true, 1, 256},
		{"two headers in two blocks", []view{{65536, 100, 0}, {4096, 200, 7}}, true, 1, 512},
		{"a header and a payload", []view{{65536, 100, 0}, {65536, 30_000, 0}}, true, 2, 256 + 65536},
		{"a payload and two headers", []view{{65536, 30_000, 0}, {65536, 100, 0}, {65536, 100, 0}}, true, 2, 65536 + 256},
		{"headers around a payload", []view{{65536, 100, 0}, {65536, 30_000, 0}, {65536, 100, 5}}, true, 3, 256 + 65536 + 256},
		{"small blocks", []view{{2048, 10, 0}, {1024, 10, 0}}, false, 2, 2048 + 1024},
		{"eight small parts, an eighth of their block and more", []view{{65536, 1025, 0}, {0, 1025, 5000}, {0, 1025, 10_000},
			{0, 1025, 15_000}, {0, 1025, 20_000}, {0, 1025, 25_000}, {0, 1025, 30_000}, {0, 1025, 35_000}}, false, 8, 65536},
		{"seven of them", []view{{65536, 1025, 0}, {0, 1025, 5000}, {0, 1025, 10_000},
			{0, 1025, 15_000}, {0, 1025, 20_000}, {0, 1025, 25_000}, {0, 1025, 30_000}}, true, 1, 8192},
		{"more than the largest class", []view{{32 << 20, 3 << 20, 5}, {32 << 20, 3 << 20, 5}}, true, 2, 8 << 20},
		{"chunks all over one block", chunks, false, 500, 65536},
	} {
		m := mem.NewMemory(views(a, c.views)...)
		want := bytes.Clone(m.Bytes())
		other := m.Retain()
		if got := m.Compact(); got != c.want {
			t.Errorf("%s: Compact is %v", c.name, got)
		}
		if !bytes.Equal(m.Bytes(), want) || m.Size != len(want) {
			t.Errorf("%s: other bytes after Compact", c.name)
		}
		if !bytes.Equal(other.Bytes(), want) {
			t.Errorf("%s: another holder sees other bytes after Compact", c.name)
		}
		other.Release()
		if out := a.Stats().OutBytes; len(m.Buffers) != c.parts || out != c.held {
			t.Errorf("%s: %d parts hold %d bytes after Compact, want %d and %d", c.name, len(m.Buffers), out, c.parts, c.held)
		}
		if m.Compact() {
			t.Errorf("%s: Compact of what was compacted", c.name)
		}
		m.Release()
		if out := a.Stats().CheckedOut; out != 0 {
			t.Fatalf("%s: %d blocks are out", c.name, out)
		}
	}
}

// A function given to Wrap may panic when Compact releases the block: the Memory is whole
// all the same, and has what was copied so far.
func TestCompactIsWholeAfterAReleaseThatPanics(t *testing.T) {
	a := mem.New(mem.Options{Leak: mem.LeakParanoid})
	m := mem.NewMemory()
	var want []byte
	for i := range 6 {
		p := bytes.Repeat([]byte{byte(i)}, 8192)
		large := mem.Wrap(p, func() {
			if i == 2 {
				panic("no")
			}
		})
		m.Append(large.RetainedSlice(100, 110))
		large.Release()
		b := a.Get(1000)
		clear(b.Bytes())
		m.Append(b)
		want = append(append(want, p[100:110]...), make([]byte, 1000)...)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("Compact hides the panic")
			}
		}()
		m.Compact()
	}()
	if !bytes.Equal(m.Bytes(), want) || m.Size != len(want) {
		t.Error("other bytes after the panic")
	}
	m.Compact()
	if !bytes.Equal(m.Bytes(), want) || len(m.Buffers) != 12 {
		t.Errorf("other bytes in %d parts", len(m.Buffers))
	}
	m.Release()
	if s := a.Stats(); s.CheckedOut != 0 {
		t.Errorf("%d blocks are out", s.CheckedOut)
	}
}
