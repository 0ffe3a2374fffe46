package sluice_test

import (
	"bytes"
	"runtime"
	"sync"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// A reader that waits parks a block which others hold too. They may release it
// at any moment, and a new owner may write into it: the reader must not look at
// it again, not even for the last byte, which UnreadByte gives back.
func TestAParkedBlockIsNotLookedAt(t *testing.T) {
	near, far := tcpPair(t)
	r := sluice.NewBufReader(near)
	defer r.Recycle()
	kept := make(chan mem.Buf)
	var others sync.WaitGroup
	others.Go(func() {
		for b := range kept {
			// The reader is waiting by now, or nearly.
			for range 100 {
				runtime.Gosched()
			}
			b.Release()
			// The next owner of the block writes into it, whatever its class.
			for size := sluice.MinBlock; size <= 64<<10; size *= 2 {
				next := mem.Default().Get(size)
				for i := range min(size, 4*2000) {
					next.Bytes()[i] = 0xee
				}
				next.Release()
			}
			if _, err := far.Write([]byte{9}); err != nil {
				return
			}
		}
	})
	defer others.Wait()
	defer close(kept)
	const size = 2000
	message := bytes.Repeat([]byte{7}, size)
	for range 300 {
		if _, err := far.Write(message); err != nil {
			t.Fatal(err)
		}
		b, err := r.ReadBuf(size)
		if err != nil {
			t.Fatal(err)
		}
		kept <- b //sluice:moved
		for range 2 {
			if c, err := r.ReadByte(); err != nil || c != 9 {
				t.Fatalf("%d, %v", c, err)
			}
			if err := r.UnreadByte(); err != nil {
				t.Fatal(err)
			}
		}
		if c, err := r.ReadByte(); err != nil || c != 9 {
			t.Fatalf("%d, %v", c, err)
		}
	}
}
