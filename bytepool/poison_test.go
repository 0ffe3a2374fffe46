//go:build invariants

package bytepool_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/bytepool"
)

func wantPanic(t *testing.T, part string, f func()) {
	t.Helper()
	if got := panicOf(f); !strings.HasPrefix(got, "bytepool: ") || !strings.Contains(got, part) {
		t.Errorf("panicked with %q, want %q in it", got, part)
	}
}

func TestInvariantsExposeSecondPut(t *testing.T) {
	for _, m := range makers {
		if m.knows {
			continue // refuses in every build
		}
		p := m.make(16, 64)
		b := p.Get()
		p.Put(b)
		wantPanic(t, m.name+": Put of 64 bytes", func() { p.Put(b) })
	}
	p := bytepool.NewBufferPool(64, 64)
	buf := p.Get()
	p.Put(buf)
	wantPanic(t, "BufferPool: Put of 64 bytes", func() { p.Put(buf) })
}

func TestInvariantsExposeWriteAfterPut(t *testing.T) {
	for _, m := range makers {
		p := m.make(16, 64)
		// A sync.Pool drops some under the race detector, so try until it does not.
		wantPanic(t, m.name+": Get of 64 bytes", func() {
			for range 100 {
				b := p.Get()
				p.Put(b)
				b[:64][63]++
				p.Get()
			}
		})
	}
	p := bytepool.NewBufferPool(64, 64)
	wantPanic(t, "BufferPool: Get of 64 bytes", func() {
		for range 100 {
			buf := p.Get()
			p.Put(buf)
			buf.WriteString("late")
			p.Get()
		}
	})
}

func TestInvariantsExposeTrustInZeroes(t *testing.T) {
	for _, m := range makers {
		for round := range 2 {
			p := m.make(64, 64)
			b := p.Get()
			if bytes.Equal(b, make([]byte, 64)) {
				t.Errorf("%s: Get %d returned zeroes", m.name, round)
			}
			p.Put(b)
		}
	}
}

func TestInvariantsAcceptSlicesTooShortToTell(t *testing.T) {
	for _, m := range makers {
		for capacity := 1; capacity < 40; capacity++ {
			p := m.make(0, capacity)
			for range 20 {
				a, b := p.Get(), p.Get()
				if !p.Put(a) || !p.Put(b) {
					t.Fatalf("%s: Put of %d bytes was refused", m.name, capacity)
				}
			}
		}
	}
}
