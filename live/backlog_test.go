package live

import (
	"testing"
	"time"
)

// Frames before the newest key frame are kept for those who lag, and not where no viewer
// or reader could: then a stream holds one group of pictures.
func TestBacklogWithoutViewers(t *testing.T) {
	h := NewHub(HubOptions{Stream: StreamOptions{Backlog: time.Minute}})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	s := p.Stream()
	at := uint32(0)
	group := func() {
		send(t, p, video(at, true, 5000), video(at+20, false, 5000), video(at+40, false, 5000))
		at += 60
	}
	kept := func(want uint64, when string) {
		t.Helper()
		s.mu.Lock()
		n := s.ring.next - s.ring.first
		s.mu.Unlock()
		if n != want {
			t.Errorf("%s: %d frames are kept, want %d", when, n, want)
		}
	}
	pass := func(d time.Duration) { // while no other goroutine uses the stream
		s.begun = s.begun.Add(-d)
	}
	pass(-time.Hour) // however slow this machine is
	group()
	group()
	kept(6, "a new stream, for those who have waited for it")
	pass(time.Hour + 2*reservationTime)
	group()
	kept(3, "no viewer has come")

	r, err := s.NewReader(ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	group()
	group()
	kept(9, "there is a reader")
	r.Close()
	pass(30 * time.Second)
	group()
	kept(12, "it has left, and may come back")
	pass(time.Minute)
	group()
	kept(3, "it has not come back")
	held := s.ring.memory()
	for range 50 {
		group()
	}
	if now := s.ring.memory(); now > 2*held+firstSegment {
		t.Errorf("%d bytes are held for a group of 15 KB, %d before", now, held)
	}
}

// What ends a publication is known without a goroutine that waits for it: once, and also
// to one who asks late.
func TestPublisherOnDone(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	var got []error
	p.OnDone(func(error) { t.Error("the first is called, which was replaced") })
	p.OnDone(func(err error) { got = append(got, err) })
	mustPublish(t, h, "s", PublishOptions{TakeOver: true})
	p.Close()
	p.OnDone(func(err error) { got = append(got, err) })
	if len(got) != 2 || got[0] != ErrTakenOver || got[1] != ErrTakenOver || p.Err() != ErrTakenOver {
		t.Errorf("called with %v; %v", got, p.Err())
	}
	p.OnDone(nil)
}
