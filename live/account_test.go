package live

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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
	var readers []*Reader
	for i := range 20 {
		p := mustPublish(t, h, fmt.Sprint(i), PublishOptions{})
		publishers = append(publishers, p)
		r, err := p.Stream().NewReader(ReaderOptions{}) // or one frame would do
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, r)
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
	for _, r := range readers {
		r.Close()
	}
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
	for end := time.Now().Add(eventTimeout); slow.figures.queued.Load() < minEvicted || fast.figures.queued.Load() > 0; {
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

// A random history of a hub with too little memory: publishers come, take over and go,
// large and small frames, readers and viewers that stay on what was trimmed, streams that
// outlive their publishers. At each step the account is what the rings hold.
func TestTheAccountAgreesWithARecount(t *testing.T) {
	alloc := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, alloc)
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	h := NewHub(HubOptions{Memory: 4 << 20, Stream: StreamOptions{Allocator: alloc, Grace: time.Hour, Ahead: time.Hour}})
	w := newWriter(t, WriterOptions{Loops: 1})
	publishers := map[string]*Publisher{}
	var readers []*Reader
	var seen []*Stream // all that there were
	for step := range 2000 {
		name := fmt.Sprint(r.IntN(8))
		switch k := r.IntN(40); {
		case k < 3:
			p := mustPublish(t, h, name, PublishOptions{TakeOver: true})
			publishers[name] = p
			if !slices.Contains(seen, p.Stream()) {
				seen = append(seen, p.Stream())
			}
		case k == 3 && publishers[name] != nil:
			publishers[name].Close()
			if r.IntN(2) == 0 {
				publishers[name].Stream().alone() // its grace period is over
			}
			delete(publishers, name)
		case k == 4 && publishers[name] != nil:
			if rd, err := publishers[name].Stream().NewReader(ReaderOptions{}); err == nil {
				readers = append(readers, rd)
			}
		case k == 5 && len(readers) > 0:
			i := r.IntN(len(readers))
			readers[i].Close()
			readers = slices.Delete(readers, i, i+1)
		case k == 6 && publishers[name] != nil:
			s, _ := pair(t) // which nothing reads
			add(t, w, s, publishers[name].Stream(), ViewerOptions{Form: Form(r.IntN(4))})
		case k == 7:
			h.Trim()
		case publishers[name] != nil:
			n := r.IntN(4000)
			if r.IntN(8) == 0 {
				n = r.IntN(1 << 20)
			}
			switch err := publishers[name].Publish(video(uint32(step)*40, r.IntN(10) == 0, n).frame()); {
			case errors.Is(err, ErrOverfull):
				delete(publishers, name)
			case err != nil:
				t.Fatal(err)
			}
		}
		held, streams := int64(0), int64(0)
		for _, s := range seen {
			s.mu.Lock() // all at once: viewers end at any time, and rings with them
			held += s.ring.memory()
			if !s.end.over {
				streams++
			}
		}
		got, rings := h.Held(), int64(h.Rings())
		for _, s := range seen {
			s.mu.Unlock()
		}
		if got != held {
			t.Fatalf("seed %d, step %d: the account has %d bytes, the rings %d", seed, step, got, held)
		}
		if rings != streams {
			t.Fatalf("seed %d, step %d: the account has %d streams of %d", seed, step, rings, streams)
		}
	}
	h.Close()
	w.Close()
	for _, rd := range readers {
		rd.Close()
	}
	if got := h.Held(); got != 0 {
		t.Errorf("seed %d: %d bytes are held by no ring", seed, got)
	}
}
