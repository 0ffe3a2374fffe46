package mem_test

import (
	"sync"
	"testing"

	"github.com/sluice-go/sluice/mem"
)

func TestWrappedMemoryIsFreedOnceByTheLastRelease(t *testing.T) {
	freed := 0
	p := []byte("0123456789")
	b := mem.Wrap(p, func() { freed++ })
	if &b.Bytes()[0] != &p[0] || b.Len() != 10 {
		t.Error("Wrap does not hold the very bytes")
	}
	c, d := b.Retain(), b.RetainedSlice(2, 4)
	var shared [3]mem.Buf
	d.Share(shared[:])
	b.Release()
	c.Release()
	d.Release()
	for i := range shared {
		if freed != 0 || string(shared[i].Bytes()) != "23" {
			t.Fatalf("freed %d times with %d holders left, who see %q", freed, 3-i, shared[i].Bytes())
		}
		shared[i].Release()
	}
	if freed != 1 {
		t.Errorf("freed %d times", freed)
	}
}

func TestWrappedMemoryIsFreedOnceWhenReleasesRace(t *testing.T) {
	for range 500 {
		freed := 0 // the race detector watches that one goroutine alone gets to it
		b := mem.Wrap(make([]byte, 8), func() { freed++ })
		copies := make([]mem.Buf, 4)
		b.Share(copies)
		var end sync.WaitGroup
		for i := range copies {
			end.Go(copies[i].Release)
		}
		b.Release()
		end.Wait()
		if freed != 1 {
			t.Fatalf("freed %d times", freed)
		}
	}
}

func TestWrapOfNothing(t *testing.T) {
	b := mem.Wrap(nil, nil)
	if !b.Valid() || b.Len() != 0 || len(b.Bytes()) != 0 {
		t.Error("a Buf of nothing is not an empty Buf")
	}
	b.Release()
}
