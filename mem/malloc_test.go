package mem_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"weak"

	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

func TestMallocHasTheLengthAndTheClassesCapacity(t *testing.T) {
	a := mem.New(mem.Options{})
	for _, n := range []int{0, 1, 256, 257, 5000, 1 << 22, 1<<22 + 1} {
		p := a.Malloc(n)
		if len(p) != n || cap(p) != a.Cap(n) {
			t.Errorf("Malloc(%d) has length %d and capacity %d", n, len(p), cap(p))
		}
		q := append(p, 1) // a caller may use the capacity, and give back any length
		if cap(p) > n && &q[0] != &p[:1][0] {
			t.Errorf("Malloc(%d): append moved", n)
		}
		if err := a.Free(p[:cap(p)]); err != nil {
			t.Errorf("Free of %d bytes: %v", n, err)
		}
	}
	if s := a.Stats(); s.CheckedOut != 0 || a.SlicesOut() != 0 {
		t.Errorf("%d blocks are out, %d slices known", s.CheckedOut, a.SlicesOut())
	}
}

func TestFreeRefusesWhatMallocDoesNotHaveOut(t *testing.T) {
	for _, level := range leakLevels {
		a, other := mem.New(mem.Options{Leak: level}), mem.New(mem.Options{})
		p := a.Malloc(1000)
		copy(p, "still mine")
		for name, c := range map[string]struct {
			p    []byte
			want error
		}{
			"nil":                {nil, mem.ErrNotAllocated},
			"empty":              {[]byte{}, mem.ErrNotAllocated},
			"foreign":            {make([]byte, 1024), mem.ErrNotAllocated},
			"another's":          {other.Malloc(1000), mem.ErrNotAllocated},
			"the back part":      {p[1:], mem.ErrNotAllocated},
			"the last byte":      {p[999:], mem.ErrNotAllocated},
			"nothing of the end": {p[1000:], mem.ErrNotAllocated},
			"the front part":     {p[:999], mem.ErrNotAllocated},
			"nothing of it":      {p[:0], mem.ErrNotAllocated},
			"the middle":         {p[10:20], mem.ErrNotAllocated},
		} {
			if err := a.Free(c.p); !errors.Is(err, c.want) {
				t.Errorf("level %v: Free of %s: %v, want %v", level, name, err, c.want)
			}
			if a.SlicesOut() != 1 || string(p[:10]) != "still mine" {
				t.Fatalf("level %v: a refused Free of %s took the slice", level, name)
			}
		}
		if err := a.Free(p); err != nil {
			t.Errorf("level %v: Free: %v", level, err)
		}
		if err := a.Free(p); !errors.Is(err, mem.ErrNotAllocated) {
			t.Errorf("level %v: a second Free: %v", level, err)
		}
		if n := len(a.Leaks()); n != 0 {
			t.Errorf("level %v: %d references outstanding", level, n)
		}
	}
}

func TestADoubleFreeHarmsNobody(t *testing.T) {
	a := mem.New(mem.Options{})
	p := a.Malloc(1000)
	if err := a.Free(p); err != nil {
		t.Fatal(err)
	}
	b := a.Get(1000) // the same block, in a usual build
	if err := a.Free(p); !errors.Is(err, mem.ErrNotAllocated) {
		t.Errorf("Free of a slice whose block is out as a Buf: %v", err)
	}
	if b.Holders() != 1 {
		t.Errorf("the Buf has %d references", b.Holders())
	}
	b.Release()
	var end sync.WaitGroup
	for range 200 {
		p := a.Malloc(1000)
		errs := make([]error, 4)
		for i := range errs {
			end.Go(func() { errs[i] = a.Free(p) })
		}
		end.Wait()
		freed := 0
		for _, err := range errs {
			if err == nil {
				freed++
			}
		}
		if freed != 1 {
			t.Fatalf("of four Frees at once %d succeeded: %v", freed, errs)
		}
	}
	if n := a.Stats().CheckedOut; n != 0 {
		t.Errorf("%d blocks are out", n)
	}
}

func TestReadGivesWhatOneReadBrought(t *testing.T) {
	a := mem.New(mem.Options{})
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		r    io.Reader
		want string
		err  error
	}{
		{"less than asked for", strings.NewReader("abc"), "abc", nil},
		{"more than asked for", strings.NewReader("0123456789abc"), "0123456789", nil},
		{"the end", strings.NewReader(""), "", io.EOF},
		{"data with the end", iotest.DataErrReader(strings.NewReader("abc")), "abc", io.EOF},
		{"an error", iotest.ErrReader(broken), "", broken},
	} {
		p, err := a.Read(c.r, 10)
		if string(p) != c.want || err != c.err || (p == nil) != (c.want == "") {
			t.Errorf("%s: %q, %v, want %q, %v", c.name, p, err, c.want, c.err)
		}
		if p == nil {
			continue
		}
		if err := a.Free(p[:len(p)-1]); !errors.Is(err, mem.ErrNotAllocated) {
			t.Errorf("%s: Free of a part: %v", c.name, err)
		}
		if err := a.Free(p); err != nil {
			t.Errorf("%s: Free: %v", c.name, err)
		}
	}
	if s := a.Stats(); s.CheckedOut != 0 || a.SlicesOut() != 0 {
		t.Errorf("%d blocks are out, %d slices known", s.CheckedOut, a.SlicesOut())
	}
	for _, n := range []int{-1, 11} {
		mustPanic(t, "Read of a lying reader", func() { a.Read(lyingReader(n), 10) }, "mem: Allocator.Read: reader returned ", " of 10 bytes")
	}
}

type lyingReader int

func (n lyingReader) Read([]byte) (int, error) { return int(n), nil }

func mallocAndForget(a *mem.Allocator, n int) weak.Pointer[byte] {
	p := a.Malloc(n)
	return weak.Make(&p[0])
}

func TestForgottenSlicesAreCollected(t *testing.T) {
	for _, level := range leakLevels {
		a := mem.New(mem.Options{Leak: level, Budget: 100 << 20})
		kept := a.Malloc(1000)
		copy(kept, "kept")
		for _, n := range []int{1000, 100_000, 5 << 20} {
			w := mallocAndForget(a, n)
			eventuallyCollected(t, "the memory is collected", func() bool { return w.Value() == nil })
		}
		eventuallyCollected(t, "the books are right", func() bool { return a.SlicesOut() == 1 && a.Stats().CheckedOut == 1 })
		s := a.Stats()
		if s.Forgotten != 3 || s.Budget.Charged != 1024 {
			t.Errorf("level %v: %d are counted as forgotten, %d bytes are charged", level, s.Forgotten, s.Budget.Charged)
		}
		if string(kept[:4]) != "kept" {
			t.Error("memory in use was touched")
		}
		if err := a.Free(kept); err != nil {
			t.Error(err)
		}
	}
}

// Forgotten memory's address goes to others while its record may still be known.
func TestFreeRefusesWhatLiesWhereForgottenSlicesLay(t *testing.T) {
	a := mem.New(mem.Options{})
	for range 50 {
		for range 100 {
			mallocAndForget(a, 1000)
		}
		runtime.GC()
		foreign := make([][]byte, 200)
		for i := range foreign {
			foreign[i] = make([]byte, 1024)
			if err := a.Free(foreign[i]); !errors.Is(err, mem.ErrNotAllocated) {
				t.Fatalf("Free of foreign memory: %v", err)
			}
		}
	}
}

func TestASliceInUseSurvivesItsAllocator(t *testing.T) {
	p := func() []byte {
		a := mem.New(mem.Options{})
		p := a.Malloc(1000)
		copy(p, "kept")
		return p
	}()
	for range 3 {
		runtime.GC()
	}
	if string(p[:4]) != "kept" {
		t.Error("memory in use was touched")
	}
}

func TestRecycleForgetsSlicesAndLeavesThemAlone(t *testing.T) {
	for _, level := range leakLevels {
		a := mem.New(mem.Options{Leak: level, Budget: 1 << 20})
		p, b := a.Malloc(1000), a.Get(1000)
		if err := a.Free(a.Malloc(70_000)); err != nil {
			t.Fatal(err)
		}
		copy(p, "mine")
		a.Recycle()
		s := a.Stats()
		if s.CheckedOut != 1 || s.Budget.Charged != 1024 || s.Forgotten != 0 {
			t.Errorf("level %v: after Recycle %+v", level, s)
		}
		q := a.Malloc(1000)
		for i := range q {
			q[i] = 'q'
		}
		if string(p[:4]) != "mine" || !b.Valid() {
			t.Errorf("level %v: Recycle touched what is in use", level)
		}
		if err := a.Free(p); !errors.Is(err, mem.ErrNotAllocated) {
			t.Errorf("level %v: Free after Recycle: %v", level, err)
		}
		if err := a.Free(q); err != nil {
			t.Errorf("level %v: Free of what was taken after Recycle: %v", level, err)
		}
		b.Release()
		a.Recycle()
		if s := a.Stats(); s.CheckedOut != 0 || len(a.Leaks()) != 0 {
			t.Errorf("level %v: in the end %+v, %d references", level, s, len(a.Leaks()))
		}
	}
}

// A reader may take longer than its allocator's last Recycle.
func TestRecycleDuringARead(t *testing.T) {
	a := mem.New(mem.Options{})
	p, err := a.Read(readerFunc(func(p []byte) (int, error) {
		a.Recycle()
		return copy(p, "late"), nil
	}), 100)
	if string(p) != "late" || err != nil {
		t.Fatalf("%q, %v", p, err)
	}
	if err := a.Free(p); !errors.Is(err, mem.ErrNotAllocated) {
		t.Errorf("Free: %v", err)
	}
	if n := a.SlicesOut(); n != 0 {
		t.Errorf("%d slices are known", n)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestSlicesFromManyGoroutines(t *testing.T) {
	a := mem.New(mem.Options{})
	passed := make(chan []byte, 16)
	var end, free sync.WaitGroup
	for w := range 4 {
		end.Go(func() {
			for i := range 1000 {
				p := a.Malloc(1 + (w*1000+i)%3000)
				for k := range p {
					p[k] = byte(len(p))
				}
				passed <- p
			}
		})
		free.Go(func() {
			for p := range passed {
				if !bytes.Equal(p, bytes.Repeat([]byte{byte(len(p))}, len(p))) {
					t.Errorf("%d bytes were written by somebody else", len(p))
				}
				if err := a.Free(p); err != nil {
					t.Error(err)
				}
			}
		})
	}
	end.Wait()
	close(passed)
	free.Wait()
	if s := a.Stats(); s.CheckedOut != 0 || a.SlicesOut() != 0 {
		t.Errorf("%d blocks are out, %d slices known", s.CheckedOut, a.SlicesOut())
	}
}

func TestMallocAndFreeAllocateNothingInSteadyState(t *testing.T) {
	if sys.Race || invariant.Enabled {
		t.Skip("allocations are not counted in this build")
	}
	steady(t)
	a := mem.New(mem.Options{})
	for _, n := range []int{1, 5000, 1 << 22} {
		allocs := testing.AllocsPerRun(1000, func() {
			if err := a.Free(a.Malloc(n)); err != nil {
				t.Fatal(err)
			}
		})
		if allocs != 0 {
			t.Errorf("Malloc(%d) and Free: %v allocations", n, allocs)
		}
	}
	r := strings.NewReader("")
	allocs := testing.AllocsPerRun(1000, func() {
		r.Reset("some bytes")
		p, err := a.Read(r, 4096)
		if err != nil {
			t.Fatal(err)
		}
		a.Free(p)
	})
	if allocs != 0 {
		t.Errorf("Read and Free: %v allocations", allocs)
	}
}

// A reader below that panics, or that counts wrong, leaves no memory out.
func TestAllocatorReadGivesBackWhenTheReaderFails(t *testing.T) {
	for name, n := range map[string]int{"a panic": 0, "too many": 101, "less than nothing": -1} {
		a := mem.New(mem.Options{Name: t.Name()})
		mustPanic(t, name, func() {
			_, _ = a.Read(readerFunc(func([]byte) (int, error) {
				if n == 0 {
					panic("the reader fails")
				}
				return n, nil
			}), 100)
		}, "reader")
		if s := a.Stats(); s.CheckedOut != 0 {
			t.Errorf("%s: %d blocks are out", name, s.CheckedOut)
		}
	}
}
