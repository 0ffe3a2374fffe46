package sluice_test

import (
	"bytes"
	"errors"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// held is what a holder was given, and the hash of its bytes at that time.
type held struct {
	buf  mem.Buf
	list *mem.Memory
	sum  uint64
}

var lifetimeSeed = maphash.MakeSeed()

func (h *held) hash() uint64 {
	var s maphash.Hash
	s.SetSeed(lifetimeSeed)
	if h.list == nil {
		_, _ = s.Write(h.buf.Bytes())
	} else {
		for _, p := range h.list.Buffers {
			_, _ = s.Write(p)
		}
	}
	return s.Sum64()
}

func (h *held) release() {
	if h.list != nil {
		h.list.Release()
	} else {
		h.buf.Release()
	}
}

// TestBytesHandedOutNeverChange hands each frame to three holders in other
// goroutines, which let go of it much later and in another order, while the
// reader reads on and is recycled. Memory that is released is poisoned, so a
// block that came home too early has another hash.
func TestBytesHandedOutNeverChange(t *testing.T) {
	seed := sluicetest.Seed(t)
	for _, s := range streams() {
		t.Run(s.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			lengths := rand.New(rand.NewPCG(seed, 2))
			a := paranoid(t)
			data := testData(400_000)
			r := s.open(t, a, data, func() int { return 1 + lengths.IntN(9000) })

			var holders [3]chan held
			var group sync.WaitGroup
			recycled := make(chan struct{})
			for i := range holders {
				holders[i] = make(chan held, 4)
				order := rand.New(rand.NewPCG(seed, uint64(10+i)))
				group.Go(func() {
					var keeping []held
					letGo := func(k int) {
						if keeping[k].hash() != keeping[k].sum {
							t.Error("bytes have changed while they were held")
						}
						keeping[k].release()
						keeping[k] = keeping[len(keeping)-1]
						keeping = keeping[:len(keeping)-1]
					}
					for h := range holders[i] {
						keeping = append(keeping, h)
						if len(keeping) > 20 {
							letGo(order.IntN(len(keeping)))
						}
					}
					<-recycled
					for len(keeping) > 0 {
						letGo(order.IntN(len(keeping)))
					}
				})
			}

			for at := 0; ; {
				var h held
				var err error
				n := 1 + rng.IntN(1+rng.IntN(1+rng.IntN(100_000)))
				if rng.IntN(2) == 0 {
					h.buf, err = r.ReadBuf(n)
				} else {
					h.list, err = r.ReadBytes(n)
				}
				if err != nil {
					if !errors.Is(err, io.ErrUnexpectedEOF) && err != io.EOF {
						t.Error(err)
					}
					break
				}
				h.sum = h.hash()
				if h.sum != (maphashOf(data[at : at+n])) {
					t.Errorf("byte %d: %d bytes are not those of the stream", at, n)
				}
				at += n
				for i := range holders {
					copied := held{sum: h.sum}
					if h.list != nil {
						copied.list = h.list.Retain()
					} else {
						copied.buf = h.buf.Retain()
					}
					holders[i] <- copied
				}
				h.release()
				if rng.IntN(4) == 0 {
					k := rng.IntN(2000)
					if err := r.Skip(k); err != nil {
						break
					}
					at += k
				}
			}
			for i := range holders {
				close(holders[i])
			}
			r.Recycle()
			// Another owner takes the free memory and writes to it.
			for range 50 {
				b := a.Get(60_000)
				clear(b.Bytes())
				b.Release()
			}
			close(recycled)
			group.Wait()
		})
	}
}

func maphashOf(p []byte) uint64 { return maphash.Bytes(lifetimeSeed, p) }

// TestTailOfASharedBlockIsFilledOnly reads a little at a time while everything
// is held, so that new bytes go behind held ones in the same block.
func TestTailOfASharedBlockIsFilledOnly(t *testing.T) {
	for _, network := range []string{"tcp", "unix", "pipe"} {
		near, far := streamPair(t, network)
		a := paranoid(t)
		r := readerOf(t, a, 0, near)
		data := testData(20_000)
		var bufs []mem.Buf
		for at := 0; at < len(data); at += 100 {
			goTest(t, func() { write(t, far, string(data[at:at+100])) })
			b, err := r.ReadBuf(100)
			if err != nil {
				t.Fatal(err)
			}
			bufs = append(bufs, b)
		}
		for i := range bufs {
			if !bytes.Equal(bufs[i].Bytes(), data[i*100:i*100+100]) {
				t.Fatalf("%s: Buf %d has changed", network, i)
			}
		}
		// They share blocks where there is a choice: over other connections
		// than sockets the smallest block waits, and is all that a message pins.
		if n := a.Stats().CheckedOut; network != "pipe" && n > 40 {
			t.Errorf("%s: %d messages of 100 bytes hold %d blocks", network, len(bufs), n)
		}
		if n := a.Stats().OutBytes; n > 100_000 {
			t.Errorf("%s: %d messages of 100 bytes pin %d bytes", network, len(bufs), n)
		}
		for i := range bufs {
			bufs[i].Release()
		}
	}
}

func TestBytesInHandAreViewedWhereTheyAre(t *testing.T) {
	data := testData(1_000_000)
	r := sluice.NewBufReaderBytes(data)
	defer r.Recycle()
	p, err := r.Next(700_000)
	if err != nil || &p[0] != &data[0] {
		t.Errorf("Next has copied: %v", err)
	}
	b, err := r.ReadBuf(100)
	if err != nil || &b.Bytes()[0] != &data[700_000] {
		t.Errorf("ReadBuf has copied: %v", err)
	}
	m, err := r.ReadBytes(200_000)
	if err != nil || &m.Buffers[0][0] != &data[700_100] {
		t.Errorf("ReadBytes has copied: %v", err)
	}
	if n := len(r.View()); n != 99_900 {
		t.Errorf("%d bytes are in view", n)
	}
	b.Release()
	m.Release()
}
