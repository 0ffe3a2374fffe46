package live

import (
	"errors"
	"sync"
	"testing"
	"time"
)

// Publishers take a stream over one after another while viewers join. Each viewer is
// sent a header and a key frame first, times that never go back, and the stream's end;
// each publisher but the last learns that it was replaced.
func TestTakeoverWhileViewersJoin(t *testing.T) {
	h := NewHub(HubOptions{Stream: StreamOptions{Ahead: time.Hour}})
	w := newWriter(t, WriterOptions{})
	first := mustPublish(t, h, "s", PublishOptions{})
	stream := first.Stream()
	send(t, first, videoConfig(0, 1), video(0, true, 50))
	var publishing, viewing sync.WaitGroup
	begun := make(chan *Publisher, 100)
	begun <- first
	publishing.Go(func() {
		defer close(begun)
		for range 15 {
			p, err := h.Publish("s", PublishOptions{TakeOver: true})
			if err != nil {
				t.Error(err)
				return
			}
			begun <- p
			for at := range uint32(10) {
				g := video(at*40, at%5 == 0, int(at)*4000) // some large, some small
				if err := p.Publish(g.frame()); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for i := range 20 {
		conn, c := pair(t)
		add(t, w, conn, stream, ViewerOptions{Merge: time.Duration(i%3) * time.Millisecond})
		viewing.Go(func() {
			tags := fileTags(t, c)
			if len(tags) < 2 || !tags[0].equal(videoConfig(tags[0].time, 1)) || !tags[1].key() {
				t.Errorf("viewer %d: %d tags that do not begin with a header and a key frame", i, len(tags))
				return
			}
			for k := range tags[1:] {
				if int32(tags[k+1].time-tags[k].time) < 0 {
					t.Errorf("viewer %d: tag %d is at %d, after one at %d", i, k+1, tags[k+1].time, tags[k].time)
				}
			}
		})
	}
	publishing.Wait()
	h.Close()
	viewing.Wait()
	var last *Publisher
	for p := range begun {
		if last != nil && !errors.Is(last.Err(), ErrTakenOver) {
			t.Errorf("one that was replaced ended with %v", last.Err())
		}
		if err := last.publishAfter(); last != nil && !errors.Is(err, ErrTakenOver) {
			t.Errorf("one that was replaced could publish: %v", err)
		}
		last = p
	}
	if !errors.Is(last.Err(), ErrClosed) {
		t.Errorf("the last ended with %v", last.Err())
	}
}

func (p *Publisher) publishAfter() error {
	if p == nil {
		return nil
	}
	return p.Publish(video(0, true, 10).frame())
}

// After Close a hub takes and gives nothing more, at any of its doors.
func TestClosedHub(t *testing.T) {
	h := NewHub(HubOptions{Memory: 1 << 20})
	p := mustPublish(t, h, "s", PublishOptions{})
	send(t, p, video(0, true, 100<<10))
	s := p.Stream()
	h.Close()
	h.Close()
	h.Trim()
	if _, err := h.Publish("s", PublishOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Publish: %v", err)
	}
	if _, err := h.Wait(t.Context(), "s"); !errors.Is(err, ErrClosed) {
		t.Errorf("Wait: %v", err)
	}
	if _, err := s.NewReader(ReaderOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("NewReader: %v", err)
	}
	if err := p.Publish(video(0, true, 10).frame()); !errors.Is(err, ErrClosed) {
		t.Errorf("Publish of its publisher: %v", err)
	}
	p.Resume()
	p.Close()
	conn, _ := pair(t)
	if _, err := newWriter(t, WriterOptions{}).Add(conn, s, ViewerOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Add: %v", err)
	}
	if _, ok := h.Stream("s"); ok || len(h.Streams()) > 0 || h.Held() != 0 {
		t.Errorf("there are %d streams, %d bytes", len(h.Streams()), h.Held())
	}
	if st := s.Stats(); st.RingFrames != 0 || st.RingMemory != 0 {
		t.Errorf("the ring has %d frames in %d bytes", st.RingFrames, st.RingMemory)
	}
}
