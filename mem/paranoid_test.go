package mem_test

import (
	"bytes"
	"testing"

	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

func TestParanoidOverwritesWhatComesHome(t *testing.T) {
	a := mem.New(mem.Options{Leak: mem.LeakParanoid})
	for _, n := range []int{1, 256, 5000, 65536, 4<<20 + 1} {
		b := a.Get(n)
		p := b.Bytes()
		for i := range p {
			p[i] = 0x11
		}
		v := b.RetainedSlice(n/2, n)
		b.Release()
		if p[0] != 0x11 || p[n-1] != 0x11 {
			t.Fatalf("%d bytes were overwritten while somebody holds them", n)
		}
		v.Release()
		if want := bytes.Repeat([]byte{mem.Poison}, n); mem.Poison != 0xDB || !bytes.Equal(p, want) {
			t.Errorf("%d bytes read %#x.. after the last Release, want 0xDB", n, p[0])
		}
	}
}

func TestOverwritingIsForParanoidAndInvariantBuildsOnly(t *testing.T) {
	steady(t)
	for _, level := range []mem.Level{mem.LeakOff, mem.LeakSample, mem.LeakTrace} {
		a := mem.New(mem.Options{Leak: level})
		b := a.Get(5000)
		p := b.Bytes()
		p[0] = 0x11
		b.Release()
		if got := p[0] == mem.Poison; got != invariant.Enabled {
			t.Errorf("level %v: overwritten: %v, invariants: %v", level, got, invariant.Enabled)
		}
	}
}

func TestParanoidKeepsBlocksBack(t *testing.T) {
	steady(t)
	a := mem.New(mem.Options{Leak: mem.LeakParanoid})
	b := a.Get(1 << 20)
	place := &b.Bytes()[0]
	b.Release()
	for range mem.QuarantineBytes>>20 - 1 {
		c := a.Get(1 << 20)
		if &c.Bytes()[0] == place {
			t.Fatal("the block is out again while there is room in the quarantine")
		}
		c.Release()
	}
}

func TestAWriteAfterReleaseIsFound(t *testing.T) {
	ways := map[string]func(a *mem.Allocator){
		"Trim":    (*mem.Allocator).Trim,
		"Recycle": (*mem.Allocator).Recycle,
		"when others come home": func(a *mem.Allocator) {
			for range mem.QuarantineBytes>>20 + 1 {
				b := a.Get(1 << 20)
				b.Release()
			}
		},
	}
	for name, leave := range ways {
		for _, at := range []int{0, 4095, 4096, 8000} {
			a := mem.New(mem.Options{Leak: mem.LeakParanoid})
			b := a.Get(8192)
			p := b.Bytes()
			b.Release()
			p[at] = 'x'
			mustPanic(t, name, func() { leave(a) }, "mem: memory was written after its Release: byte ", " of a block of 8192")
			if msg := panicOf(func() { leave(a) }); msg != "" {
				t.Errorf("%s: the block is found twice: %s", name, msg)
			}
		}
	}
}

func TestTheQuarantineIsBounded(t *testing.T) {
	if sys.Race {
		t.Skip("caches lose blocks in this build, which exist until the collector comes")
	}
	steady(t)
	a := mem.New(mem.Options{Leak: mem.LeakParanoid})
	for range 5 {
		var bufs []mem.Buf
		for range 8192 { // 2 MiB of small blocks, which must make way for large ones
			bufs = append(bufs, a.Get(256))
		}
		for i := range bufs {
			bufs[i].Release()
		}
		for range 10 {
			b := a.Get(4 << 20)
			b.Release()
		}
		if live, most := a.Live(4<<20), mem.QuarantineBytes>>22+2; live > most {
			t.Fatalf("%d blocks of 4 MiB exist, want at most %d", live, most)
		}
	}
}
