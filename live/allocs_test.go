package live

import (
	"net"
	"runtime"
	"sync"
	"testing"

	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

// drain reads until the end, and counts.
func drain(c net.Conn, b []byte, count func(int)) {
	for {
		n, err := c.Read(b)
		count(n)
		if err != nil {
			return
		}
	}
}

// A frame that is delivered costs no allocation: not on the way in, and not for
// any viewer.
func TestDeliveryAllocatesNothing(t *testing.T) {
	if sys.Race || sys.Asan || invariant.Enabled {
		t.Skip("pools forget at random under the race detector, the invariants poison and allocate, and with -asan system calls allocate")
	}
	for _, form := range []Form{FormFLV, FormRTMP, FormWebSocket, FormChunked} {
		t.Run(form.String(), func(t *testing.T) {
			alloc := mem.New(mem.Options{Name: t.Name()})
			h := NewHub(HubOptions{Stream: StreamOptions{Allocator: alloc, GOPFrames: 100}})
			p := mustPublish(t, h, "s", PublishOptions{})
			w := newWriter(t, WriterOptions{})
			const viewers, frames = 20, 500
			var wg sync.WaitGroup
			for range viewers {
				s, c := pair(t)
				add(t, w, s, p.Stream(), ViewerOptions{Form: form, FromStart: true})
				wg.Add(1)
				b := make([]byte, 64<<10)
				go func() {
					defer wg.Done()
					drain(c, b, func(int) {})
				}()
			}
			st := p.Stream()
			body := video(0, true, 3000).body
			publish := func(from, to int) {
				for i := from; i < to; i++ {
					b := alloc.Get(len(body))
					copy(b.Bytes(), body)
					if err := p.Publish(Frame{Type: 9, Time: uint32(i), Payload: b}); err != nil {
						t.Fatal(err)
					}
					// Wait until all viewers have the frame, so that frames
					// are sent one by one.
					for st.sent.frames.Load() < int64(i+1)*viewers {
						runtime.Gosched()
					}
				}
			}
			publish(0, frames)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			publish(frames, 2*frames)
			runtime.ReadMemStats(&after)
			each := float64(after.Mallocs-before.Mallocs) / (viewers * frames)
			t.Logf("%.4f allocations for each frame delivered", each)
			// The lists of viewers who were slow for a moment come and go.
			if each > 0.05 {
				t.Errorf("%.4f allocations for each frame delivered", each)
			}
			h.Close()
			wg.Wait()
		})
	}
}

// What a stream holds follows its bounds, not what was published.
func TestRingIsBounded(t *testing.T) {
	alloc := mem.New(mem.Options{Name: t.Name()})
	h := NewHub(HubOptions{Stream: StreamOptions{Allocator: alloc, GOPBytes: 1 << 20}})
	p := mustPublish(t, h, "s", PublishOptions{})
	// Without a viewer it soon keeps less.
	r, err := p.Stream().NewReader(ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5000 {
		send(t, p, video(uint32(i)*40, i%1000 == 0, 5000))
	}
	st := p.Stream().Stats()
	if st.RingBytes > 1<<20 || st.RingBytes < 1<<19 || st.RingMemory > 2<<20 {
		t.Errorf("%d bytes in %d of memory", st.RingBytes, st.RingMemory)
	}
	if out := alloc.Stats().OutBytes; out > 2<<20 {
		t.Errorf("%d bytes checked out", out)
	}
	r.Close()
	h.Close()
	if out := alloc.Stats().OutBytes; out != 0 {
		t.Errorf("%d bytes checked out after the end", out)
	}
}

// However many viewers are sent the same frames one after another, the frames take no more
// memory for that than for the first.
func TestFramesTakeNoMemoryForEachViewer(t *testing.T) {
	if sys.Race || invariant.Enabled {
		t.Skip("memory grows for other reasons under the race detector, and the invariants allocate")
	}
	for _, form := range []Form{FormFLV, FormRTMP, FormWebSocket, FormChunked} {
		t.Run(form.String(), func(t *testing.T) {
			h := NewHub(HubOptions{Stream: StreamOptions{Allocator: mem.New(mem.Options{Name: t.Name()})}})
			defer h.Close()
			p := mustPublish(t, h, "s", PublishOptions{})
			for i := range 100 {
				send(t, p, video(uint32(i), i == 0, 500))
			}
			r := &p.Stream().ring
			var b batch
			grown := testing.AllocsPerRun(100, func() {
				r.fill(&b, form, r.first, r.next, visit)
				if b.records != 100 {
					t.Fatalf("%d frames", b.records)
				}
				b.reset()
			})
			if grown > 1 { // a WebSocket message or a chunk has a header of its own
				t.Errorf("100 frames take %v allocations for each viewer", grown)
			}
		})
	}
}
