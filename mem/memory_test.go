package mem_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/mem"
)

// counted makes a Memory of wrapped parts and counts the releases.
func counted(parts ...string) (m *mem.Memory, freed []int) {
	freed = make([]int, len(parts))
	m = mem.NewMemory()
	for i, p := range parts {
		m.Append(mem.Wrap([]byte(p), func() { freed[i]++ }))
	}
	return m, freed
}

// split cuts data at the given places into the parts of a Memory.
func split(data []byte, at ...int) *mem.Memory {
	var bufs []mem.Buf
	from := 0
	for _, to := range append(at, len(data)) {
		bufs = append(bufs, mem.Wrap(data[from:to:to], nil))
		from = to
	}
	return mem.NewMemory(bufs...)
}

func partsOf(m *mem.Memory) (parts []string) {
	for _, p := range m.Buffers {
		parts = append(parts, string(p))
	}
	return parts
}

func TestMemoryIsItsBufsInOrder(t *testing.T) {
	for _, parts := range [][]string{nil, {"a"}, {"ab", "c"}, {"ab", "c", "defg", "h", "ij", "k"}} {
		m, freed := counted(parts...)
		var want string
		for i, p := range parts {
			want += p
			if string(m.Buffers[i]) != p {
				t.Errorf("Buffers[%d] is %q, want %q", i, m.Buffers[i], p)
			}
		}
		if m.Size != len(want) || string(m.Bytes()) != want || fmt.Sprint(partsOf(m)) != fmt.Sprint(parts) {
			t.Errorf("Memory of %q: size %d, bytes %q, parts %q", parts, m.Size, m.Bytes(), partsOf(m))
		}
		for room := range len(want) + 3 {
			p := bytes.Repeat([]byte{'-'}, room+2)
			n := m.CopyTo(p[:room])
			if n != min(room, len(want)) || string(p[:n]) != want[:n] || len(bytes.Trim(p[n:], "-")) > 0 {
				t.Errorf("CopyTo of %q into %d bytes: %d, %q", want, room, n, p)
			}
		}
		m.Release()
		for i, n := range freed {
			if n != 1 {
				t.Errorf("part %d of %q was released %d times", i, parts, n)
			}
		}
		if m.Size != 0 || len(m.Buffers) != 0 {
			t.Errorf("a released Memory has %d bytes and %d parts", m.Size, len(m.Buffers))
		}
	}
}

func TestEmptyBufsLeaveNoPart(t *testing.T) {
	m, freed := counted("", "a", "", "", "b", "")
	if len(m.Buffers) != 2 || fmt.Sprint(freed) != "[1 0 1 1 0 1]" {
		t.Errorf("%d parts, released %v", len(m.Buffers), freed)
	}
	m.Release()
	if fmt.Sprint(freed) != "[1 1 1 1 1 1]" {
		t.Errorf("released %v", freed)
	}
}

func TestAppendMemoryMovesTheParts(t *testing.T) {
	lists := [][]string{nil, {"a"}, {"ab", "c"}, {"ab", "c", "defg", "h", "ij", "k"}}
	for _, front := range lists {
		for _, back := range lists {
			m, freed := counted(front...)
			o, freedToo := counted(back...)
			m.AppendMemory(o)
			m.AppendMemory(mem.NewMemory())
			want := append(slices.Clone(front), back...)
			if fmt.Sprint(partsOf(m)) != fmt.Sprint(want) || m.Size != len(strings.Join(want, "")) {
				t.Errorf("%q and %q: %q, size %d", front, back, partsOf(m), m.Size)
			}
			mustPanic(t, "a Memory that was appended", func() { o.Bytes() }, "the Memory was released")
			mustPanic(t, "a Memory to itself", func() { m.AppendMemory(m) }, "of the Memory itself")
			m.Append(mem.Wrap([]byte("x"), nil))
			if got := string(m.Bytes()); got != strings.Join(want, "")+"x" {
				t.Errorf("%q and %q, then x: %q", front, back, got)
			}
			m.Release()
			for i, n := range append(freed, freedToo...) {
				if n != 1 {
					t.Errorf("part %d of %q was released %d times", i, want, n)
				}
			}
		}
	}
}

func TestAReleasedMemoryPanics(t *testing.T) {
	calls := map[string]func(m *mem.Memory){
		"Release":       func(m *mem.Memory) { m.Release() },
		"Append":        func(m *mem.Memory) { m.Append(mem.Wrap([]byte("x"), nil)) },
		"AppendMemory":  func(m *mem.Memory) { m.AppendMemory(mem.NewMemory()) },
		"Retain":        func(m *mem.Memory) { m.Retain() },
		"RetainedSlice": func(m *mem.Memory) { m.RetainedSlice(0, 0) },
		"WriteTo":       func(m *mem.Memory) { m.WriteTo(new(bytes.Buffer)) },
		"Bytes":         func(m *mem.Memory) { m.Bytes() },
		"CopyTo":        func(m *mem.Memory) { m.CopyTo(nil) },
		"Compact":       func(m *mem.Memory) { m.Compact() },
		"NewReader":     func(m *mem.Memory) { m.NewReader() },
	}
	for name, call := range calls {
		for _, parts := range [][]string{nil, {"a"}, {"a", "b"}} {
			m, _ := counted(parts...)
			other := m.Retain()
			m.Release()
			mustPanic(t, name+" of a released Memory", func() { call(m) }, "mem: Memory."+name+": the Memory was released")
			if other.Size != len(parts) {
				t.Errorf("%s of a released Memory changed another", name)
			}
			other.Release()
		}
	}
}

func TestRetainSharesBytesAndNothingElse(t *testing.T) {
	m, freed := counted("ab", "cd", "ef")
	other := m.Retain()
	other.Append(mem.Wrap([]byte("more"), nil))
	if &other.Buffers[1][0] != &m.Buffers[1][0] {
		t.Error("Retain copied bytes")
	}
	m.Append(mem.Wrap([]byte("!"), nil))
	if string(m.Bytes()) != "abcdef!" || string(other.Bytes()) != "abcdefmore" {
		t.Errorf("%q and %q", m.Bytes(), other.Bytes())
	}
	m.Release()
	if fmt.Sprint(freed) != "[0 0 0]" || string(other.Bytes()) != "abcdefmore" {
		t.Errorf("released %v while the second Memory holds %q", freed, other.Bytes())
	}
	other.Release()
	if fmt.Sprint(freed) != "[1 1 1]" {
		t.Errorf("released %v", freed)
	}
}

func TestRetainedSliceOfEveryRange(t *testing.T) {
	const whole = "aabbbcdddd"
	m, freed := counted("aa", "bbb", "c", "dddd")
	for i := range len(whole) + 1 {
		for j := i; j <= len(whole); j++ {
			s := m.RetainedSlice(i, j)
			if string(s.Bytes()) != whole[i:j] || s.Size != j-i {
				t.Errorf("[%d:%d] is %q, want %q", i, j, s.Bytes(), whole[i:j])
			}
			for _, p := range s.Buffers {
				if len(p) == 0 || cap(p) != len(p) {
					t.Errorf("[%d:%d] has a part of length %d and capacity %d", i, j, len(p), cap(p))
				}
			}
			s.Release()
		}
	}
	for _, x := range [][2]int{{-1, 2}, {3, 2}, {0, len(whole) + 1}, {2, -1}} {
		mustPanic(t, "RetainedSlice", func() { m.RetainedSlice(x[0], x[1]) }, "mem: Memory.RetainedSlice(", "of 10 bytes")
	}
	last := m.RetainedSlice(9, 10)
	m.Release()
	if fmt.Sprint(freed) != "[1 1 1 0]" {
		t.Errorf("released %v while a slice of the last part is held", freed)
	}
	last.Release()
	if fmt.Sprint(freed) != "[1 1 1 1]" {
		t.Errorf("released %v", freed)
	}
}

func TestBytesOfOnePartIsThatPart(t *testing.T) {
	m, _ := counted("one part")
	if &m.Bytes()[0] != &m.Buffers[0][0] {
		t.Error("Bytes copied")
	}
	m.Append(mem.Wrap([]byte(", and another"), nil))
	p := m.Bytes()
	if &p[0] == &m.Buffers[0][0] || string(p) != "one part, and another" {
		t.Errorf("Bytes of two parts is %q", p)
	}
}

func TestMemoryStaysSmall(t *testing.T) {
	if size := reflect.TypeFor[mem.Memory]().Size(); strconv.IntSize == 64 && size > 112 {
		t.Errorf("a Memory has %d bytes, its comment says 112", size)
	}
}

// TestAReleaseThatPanicsReleasesTheRest has every set of the parts' functions
// panic.
func TestAReleaseThatPanicsReleasesTheRest(t *testing.T) {
	calls := map[string]func(*mem.Memory){
		"Release":   func(m *mem.Memory) { m.Release() },
		"ClipFront": func(m *mem.Memory) { r := m.NewReader(); r.Skip(m.Size); r.ClipFront() },
		"Compact":   func(m *mem.Memory) { m.Compact() },
	}
	for name, call := range calls {
		for bad := range 1 << 4 {
			var freed [4]int
			m := mem.NewMemory()
			for i := range freed {
				whole := mem.Wrap(make([]byte, 4096), func() {
					freed[i]++
					if bad>>i&1 != 0 {
						panic("the part's own")
					}
				})
				m.Append(whole.RetainedSlice(0, 10))
				whole.Release()
			}
			func() {
				defer func() {
					if r := recover(); (r != nil) != (bad != 0) {
						t.Errorf("%s, panics %04b: recovered %v", name, bad, r)
					}
				}()
				call(m)
			}()
			if freed != [4]int{1, 1, 1, 1} {
				t.Errorf("%s, panics %04b: parts were released %v times", name, bad, freed)
			}
			if name == "Release" {
				mustPanic(t, "a second Release", m.Release, "was released")
				continue
			}
			if want := map[string]int{"ClipFront": 0, "Compact": 40}[name]; m.Size != want || len(m.Bytes()) != want {
				t.Errorf("%s, panics %04b: %d bytes are left and %d said, want %d", name, bad, len(m.Bytes()), m.Size, want)
			}
			m.Release()
		}
	}
}
