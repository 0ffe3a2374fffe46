package bytepool_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/sluice-go/sluice/bytepool"
	"github.com/sluice-go/sluice/internal/sys"
)

func TestBufferIsEmptyAndHasRoomOnGet(t *testing.T) {
	p := bytepool.NewBufferPool(100, 4096)
	for i := range 200 {
		buf := p.Get()
		if buf.Len() != 0 || buf.String() != "" {
			t.Fatalf("Get %d: %d bytes in the buffer", i, buf.Len())
		}
		if buf.Available() < 100 {
			t.Fatalf("Get %d: room for %d bytes, want 100", i, buf.Available())
		}
		fmt.Fprintf(buf, "%0*d", 1+i*7, i)
		// Half read: the room before the read position must come back too.
		buf.Next(i * 3)
		if !p.Put(buf) {
			t.Fatalf("Put %d of a buffer of %d bytes was refused", i, buf.Cap())
		}
	}
}

func TestBufferPoolKeepsFittingBuffersOnly(t *testing.T) {
	p := bytepool.NewBufferPool(100, 1000)
	for _, c := range []struct {
		name string
		buf  *bytes.Buffer
		want bool
	}{
		{"nil", nil, false},
		{"zero", new(bytes.Buffer), false},
		{"just too small", bytes.NewBuffer(make([]byte, 0, 99)), false},
		{"smallest", bytes.NewBuffer(make([]byte, 0, 100)), true},
		{"largest", bytes.NewBuffer(make([]byte, 1000)), true},
		{"just too large", bytes.NewBuffer(make([]byte, 0, 1001)), false},
		{"huge", bytes.NewBuffer(make([]byte, 1<<20)), false},
		{"read up", drained(1<<20 + 1), false},
	} {
		if got := p.Put(c.buf); got != c.want {
			t.Errorf("Put of the buffer %q returned %v", c.name, got)
		}
	}
	for range 10 {
		if buf := p.Get(); buf.Cap() < 100 || buf.Cap() > 1000 {
			t.Errorf("Get returned a buffer of %d bytes", buf.Cap())
		}
	}
}

// drained is a buffer that held n bytes and is empty.
func drained(n int) *bytes.Buffer {
	buf := bytes.NewBuffer(make([]byte, n))
	buf.Next(n)
	return buf
}

func TestOversizedBufferIsDroppedAfterUse(t *testing.T) {
	p := bytepool.NewBufferPool(16, 64)
	buf := p.Get()
	buf.Write(make([]byte, 1000))
	if p.Put(buf) {
		t.Fatalf("a buffer that grew to %d bytes was kept, the limit is 64", buf.Cap())
	}
}

func TestBufferGetAndPutAllocateNothing(t *testing.T) {
	if sys.Race {
		t.Skip("a sync.Pool drops at random under the race detector")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	p := bytepool.NewBufferPool(64, 64)
	p.Put(p.Get())
	if n := testing.AllocsPerRun(1000, func() { p.Put(p.Get()) }); n != 0 {
		t.Fatalf("Get and Put allocate %v times", n)
	}
}

func TestBufferHasOneOwnerAtATime(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	p := bytepool.NewBufferPool(8, 256)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(g)))
			for range 1000 {
				buf := p.Get()
				n := 1 + rnd.IntN(400)
				for range n {
					buf.WriteByte(byte(g))
				}
				if buf.Len() != n || bytes.Count(buf.Bytes(), []byte{byte(g)}) != n {
					t.Errorf("seed %d: buffer of goroutine %d holds somebody else's bytes", seed, g)
					return
				}
				room := buf.Cap()
				if kept := p.Put(buf); kept != (room <= 256) {
					t.Errorf("seed %d: Put returned %v for a buffer of %d bytes", seed, kept, room)
					return
				}
			}
		})
	}
	wg.Wait()
}
