package mem_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

// allocsPerRun fails the test unless f makes want allocations a run.
func allocsPerRun(t *testing.T, what string, want float64, f func()) {
	t.Helper()
	if got := testing.AllocsPerRun(200, f); got != want {
		t.Errorf("%s: %v allocations, want %v", what, got, want)
	}
}

func countsAllocations(t *testing.T) {
	t.Helper()
	if sys.Race || invariant.Enabled {
		t.Skip("allocations are not counted in this build")
	}
	steady(t)
}

func TestNothingIsAllocatedInSteadyState(t *testing.T) {
	countsAllocations(t)
	for name, o := range map[string]mem.Options{"plain": {}, "with a budget": {Budget: 64 << 20}} {
		a := mem.New(o)
		for n := 1; n <= 4<<20; n *= 2 {
			at := fmt.Sprintf(", %d bytes, %s", n, name)
			allocsPerRun(t, "Get and Release"+at, 0, func() {
				b := a.Get(n)
				b.Release()
			})
			allocsPerRun(t, "TryGet and Release"+at, 0, func() {
				b, err := a.TryGet(n)
				if err != nil {
					t.Fatal(err)
				}
				b.Release()
			})
			allocsPerRun(t, "GetContext and Release"+at, 0, func() {
				b, err := a.GetContext(context.Background(), n)
				if err != nil {
					t.Fatal(err)
				}
				b.Release()
			})
			b := a.Get(n)
			allocsPerRun(t, "Retain"+at, 0, func() {
				c := b.Retain()
				c.Release()
			})
			allocsPerRun(t, "RetainedSlice"+at, 0, func() {
				c := b.RetainedSlice(n/2, n)
				c.Release()
			})
			var to [3]mem.Buf
			allocsPerRun(t, "Share"+at, 0, func() {
				b.Share(to[:])
				for i := range to {
					to[i].Release()
				}
			})
			allocsPerRun(t, "Bytes"+at, 0, func() {
				if len(b.Bytes())+b.Len() != 2*n {
					t.Fatal("another length")
				}
			})
			b.Release()
			allocsPerRun(t, "Slab"+at, 0, func() {
				s := a.Slab(n)
				c := s.Cut(0, n)
				s.Release()
				c.Release()
			})
			s := a.Slab(n)
			allocsPerRun(t, "Cut"+at, 0, func() {
				c := s.Cut(0, n)
				c.Release()
			})
			s.Release()
		}
	}
}

func TestParkingAllocatesNothingInSteadyState(t *testing.T) {
	countsAllocations(t)
	a := mem.New(mem.Options{})
	s := a.Slab(4096)
	c := s.Cut(0, 10)
	allocsPerRun(t, "Park and Unpark", 0, func() {
		if s = mem.Unpark(s.Park()); !s.Valid() {
			t.Fatal("not unparked")
		}
	})
	c.Release()
	s.Release()
}

func TestAMemoryOfOneBufIsOneAllocation(t *testing.T) {
	countsAllocations(t)
	a := mem.New(mem.Options{})
	var m *mem.Memory
	allocsPerRun(t, "NewMemory of one Buf", 1, func() {
		m = mem.NewMemory(a.Get(1000))
		m.Release()
	})
	m = mem.NewMemory(a.Get(1000))
	var other *mem.Memory
	allocsPerRun(t, "Retain of one Buf", 1, func() {
		other = m.Retain()
		other.Release()
	})
	allocsPerRun(t, "NewMemory of five Bufs", 3, func() {
		other = mem.NewMemory(a.Get(1), a.Get(1), a.Get(1), a.Get(1), a.Get(1))
		other.Release()
	})
	m.Append(a.Get(1000))
	p := make([]byte, 100)
	allocsPerRun(t, "reading", 0, func() {
		n := 0
		for _, q := range m.Buffers {
			n += len(q)
		}
		r := m.NewReader()
		r.ReadByte()
		r.ReadBE(4)
		r.ReadLE(4)
		r.Read(p)
		r.Skip(900)
		r.RangeN(100, func(q []byte) { n += len(q) })
		r.Range(func(q []byte) { n += len(q) })
		if n != 2000+1000-9 || r.Length != 0 {
			t.Fatal(n, r.Length)
		}
	})
	m.Release()
}

// A hostile peer can cause many refusals: each allocates its error, nothing
// else.
func TestARefusedTryGetAllocatesItsErrorOnly(t *testing.T) {
	countsAllocations(t)
	a := mem.New(mem.Options{Budget: 4096})
	b := a.Get(4096)
	allocsPerRun(t, "a refused TryGet", 1, func() {
		if _, err := a.TryGet(1); err == nil {
			t.Fatal("not refused")
		}
	})
	b.Release()
}
