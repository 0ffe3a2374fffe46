package mem_test

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// TestSlabBlocksGoHomeOnce: a filler cuts, lets go, parks and unparks while
// several goroutines release its frames in random orders.
func TestSlabBlocksGoHomeOnce(t *testing.T) {
	seed := sluicetest.Seed(t)
	rounds := 3000
	if sys.Race || testing.Short() {
		rounds = 500
	}
	for _, level := range leakLevels {
		a := mem.New(mem.Options{Name: level.String(), Leak: level})
		const keepers = 4
		type frame struct {
			buf  mem.Buf
			want byte
		}
		frames := make([]chan frame, keepers)
		var group sync.WaitGroup
		for k := range frames {
			frames[k] = make(chan frame, 64)
			group.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(k)))
				var held []frame
				release := func(i int) {
					f := &held[i]
					if p := f.buf.Bytes(); !bytes.Equal(p, bytes.Repeat([]byte{f.want}, len(p))) {
						t.Errorf("%v: a frame that is held has changed", level)
					}
					f.buf.Release()
					held[i] = held[len(held)-1]
					held = held[:len(held)-1]
				}
				for f := range frames[k] {
					held = append(held, f)
					for len(held) > 0 && rng.IntN(8) < len(held) {
						release(rng.IntN(len(held)))
					}
				}
				for len(held) > 0 {
					release(rng.IntN(len(held)))
				}
			})
		}
		rng := rand.New(rand.NewPCG(seed, 99))
		fill := byte(0)
		revived := 0
		for range rounds {
			s := a.Slab(1024)
			at := 0
			for range 1 + rng.IntN(6) {
				for range rng.IntN(6) {
					n := 1 + rng.IntN(100)
					if at+n > len(s.Bytes()) {
						break
					}
					fill++
					copy(s.Bytes()[at:], bytes.Repeat([]byte{fill}, n))
					bufs := make([]mem.Buf, 1+rng.IntN(3))
					s.CutFor(bufs, at, n)
					if rng.IntN(2) == 0 {
						bufs = append(bufs, bufs[0].Retain())
					}
					at += n
					for i := range bufs {
						frames[rng.IntN(keepers)] <- frame{bufs[i], fill} //sluice:moved
					}
				}
				if rng.IntN(3) > 0 {
					parked := s.Park()
					if s = mem.Unpark(parked); !s.Valid() {
						break
					}
					revived++
				}
			}
			if s.Valid() {
				s.Release()
			}
		}
		for _, c := range frames {
			close(c)
		}
		group.Wait()
		s := a.Stats()
		if s.CheckedOut != 0 || s.Forgotten != 0 || s.Hits+s.Misses != int64(rounds) {
			t.Errorf("%v: %d blocks are out, %d forgotten, %d of %d were taken", level, s.CheckedOut, s.Forgotten, s.Hits+s.Misses, rounds)
		}
		for _, l := range a.Leaks() {
			t.Errorf("%v: %d bytes were not released; taken at\n%s", level, l.Size, l.Stack)
		}
		// Each idle block is in the pool once: as many as there are, taken
		// together, are different ones.
		var all []mem.Buf
		for i := range 200 {
			b := a.Get(1024)
			b.Bytes()[0] = byte(i)
			all = append(all, b)
		}
		for i := range all {
			if all[i].Bytes()[0] != byte(i) {
				t.Fatalf("%v: a block was handed out twice", level)
			}
		}
		for i := range all {
			all[i].Release()
		}
		a.Trim()
		t.Logf("%v: %d blocks, %d revivals", level, rounds, revived)
	}
}
