package live

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// What all rings hold stays within the hub's memory, however many streams there
// are, and each still has its newest frames.
func TestRingsStayWithinTheHubsMemory(t *testing.T) {
	const most = 8 << 20
	alloc := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, alloc)
	h := NewHub(HubOptions{Memory: most, Stream: StreamOptions{Allocator: alloc}})
	var publishers []*Publisher
	for i := range 20 {
		publishers = append(publishers, mustPublish(t, h, fmt.Sprint(i), PublishOptions{}))
	}
	for at := range uint32(400) {
		for _, p := range publishers {
			send(t, p, video(at*40, at%50 == 0, 8<<10))
		}
		// A segment for each ring on top, at the most, of either kind.
		if held := h.Held(); held > most+20*2*fullSegment {
			t.Fatalf("the rings hold %d bytes, at most %d", held, most)
		}
	}
	for _, p := range publishers[10:] {
		p.Close()
	}
	for _, p := range publishers[:10] {
		if st := p.Stream().Stats(); st.RingFrames < 3 {
			t.Errorf("a ring has %d frames", st.RingFrames)
		}
	}
	// Nor is one without a frame harmed.
	empty := mustPublish(t, h, "empty", PublishOptions{})
	h.Trim()
	if st := empty.Stream().Stats(); st.RingFrames != 0 {
		t.Errorf("an empty ring has %d frames", st.RingFrames)
	}
	// A stream to which nothing is published any more gives its part back too.
	late := publishers[0]
	for at := range uint32(3000) {
		send(t, publishers[1], video(at*40, at%50 == 0, 8<<10))
	}
	before := late.Stream().Stats().RingMemory
	h.Trim()
	if after := late.Stream().Stats().RingMemory; after > before {
		t.Errorf("a ring went from %d to %d bytes", before, after)
	}
	h.Close()
	if held := h.Held(); held != 0 {
		t.Errorf("%d bytes are held by no ring", held)
	}
}

// The viewers for whom the kernel holds most are the first to go.
func TestEvictTheSlowest(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{Stall: time.Minute})
	s, _ := pair(t)
	slow := add(t, w, s, p.Stream(), ViewerOptions{FromStart: true})
	s, c := pair(t)
	fast := add(t, w, s, p.Stream(), ViewerOptions{FromStart: true})
	go drain(c, make([]byte, 1<<16), func(int) {})
	for i := range 20 {
		send(t, p, video(uint32(i), i == 0, 300<<10))
	}
	for end := time.Now().Add(patience); slow.figures.queued.Load() < minEvicted || fast.figures.queued.Load() > 0; {
		if time.Now().After(end) {
			t.Fatalf("the kernel holds %d and %d bytes", slow.figures.queued.Load(), fast.figures.queued.Load())
		}
		<-time.After(time.Millisecond)
	}
	if w.Queued() < minEvicted {
		t.Errorf("the kernel holds %d bytes", w.Queued())
	}
	if freed := w.Evict(1); freed < minEvicted {
		t.Errorf("%d bytes are freed", freed)
	}
	waitFor(t, slow.Done(), "end of the slow viewer")
	if !errors.Is(slow.Err(), ErrMemory) || fast.Err() != nil {
		t.Errorf("the slow viewer was closed for %v, the fast one for %v", slow.Err(), fast.Err())
	}
}
