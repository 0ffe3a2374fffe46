package live

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// Publishers whose newest frames alone take more than all streams may are ended, those with the
// largest first, and no more of them than that takes. Who needs little stays, with what is kept.
func TestPublishersThatDoNotFitAreEnded(t *testing.T) {
	const most, crowd, size = 8 << 20, 20, 900 << 10
	alloc := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, alloc)
	h := NewHub(HubOptions{Memory: most, Stream: StreamOptions{Allocator: alloc, Grace: time.Hour}})
	defer h.Close()
	good := mustPublish(t, h, "good", PublishOptions{})
	r, err := good.Stream().NewReader(ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var publishers []*Publisher
	for i := range crowd {
		publishers = append(publishers, mustPublish(t, h, fmt.Sprint(i), PublishOptions{}))
	}
	ended := 0
	for at := range uint32(3) {
		send(t, good, video(at*40, at == 0, 20<<10))
		ended = 0
		for i, p := range publishers {
			switch err := p.Publish(video(at*40, at == 0, size).frame()); {
			case errors.Is(err, ErrOverfull):
				ended++
			case err != nil:
				t.Fatalf("publisher %d: %v", i, err)
			}
			// What is published is in the account before others are ended for it.
			if held := h.Held(); held > most {
				t.Fatalf("the rings hold %d bytes, at most %d", held, most)
			}
		}
	}
	if fit := crowd - ended; fit < most/(1<<20)/2 || fit > most/(1<<20) {
		t.Errorf("%d publishers of %d bytes are left with %d", fit, size, most)
	}
	if st := good.Stream().Stats(); good.Err() != nil || st.RingFrames != 3 {
		t.Errorf("the one that needs little: %v, with %d frames", good.Err(), st.RingFrames)
	}
}

// What is kept for those who may come while there is no publisher is the first to go.
func TestStreamsWithoutAPublisherGiveWayFirst(t *testing.T) {
	const most, size = 4 << 20, 900 << 10
	h := NewHub(HubOptions{Memory: most, Stream: StreamOptions{Grace: time.Hour}})
	defer h.Close()
	for i := range 12 {
		p := mustPublish(t, h, fmt.Sprint(i), PublishOptions{})
		send(t, p, video(0, true, size))
		if held := h.Held(); held > most {
			t.Fatalf("the rings hold %d bytes, at most %d", held, most)
		}
		if p.Err() != nil {
			t.Fatalf("publisher %d: %v", i, p.Err())
		}
		p.Close()
	}
}

// So is what is left of streams that are over for viewers who do not take it.
func TestStreamsThatAreOverGiveWayFirst(t *testing.T) {
	const most, size = 4 << 20, 900 << 10
	h := NewHub(HubOptions{Memory: most})
	defer h.Close()
	for i := range 12 {
		p := mustPublish(t, h, fmt.Sprint(i), PublishOptions{})
		r, err := p.Stream().NewReader(ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		send(t, p, video(0, true, size))
		if held := h.Held(); held > most {
			t.Fatalf("the rings hold %d bytes, at most %d", held, most)
		}
		if p.Err() != nil {
			t.Fatalf("publisher %d: %v", i, p.Err())
		}
		p.Close()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(stillHeld(h.over)); n > most/(1<<20) {
		t.Errorf("%d streams that are over are known", n)
	}
}

// A publisher that is alone is in no other's way, and one that has sent its frame and is silent
// gives way, too.
func TestWhoGivesWay(t *testing.T) {
	const most = 2 << 20
	h := NewHub(HubOptions{Memory: most})
	defer h.Close()
	large := mustPublish(t, h, "large", PublishOptions{})
	send(t, large, video(0, true, 3<<20))
	if h.Trim(); large.Err() != nil {
		t.Errorf("a lone publisher: %v", large.Err())
	}
	small := mustPublish(t, h, "small", PublishOptions{})
	send(t, small, video(0, true, 1000))
	if h.Trim(); !errors.Is(large.Err(), ErrOverfull) || small.Err() != nil || h.Held() > most {
		t.Errorf("the large one: %v, the small one: %v, %d bytes are held", large.Err(), small.Err(), h.Held())
	}
}
