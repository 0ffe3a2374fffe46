package live

import (
	"io"
	"testing"
	"time"
)

func TestMergeFollowsTheLoad(t *testing.T) {
	const most = 95 * time.Millisecond
	var l load
	if got := l.merge(1000, most); got != 0 {
		t.Errorf("%v before anything is known", got)
	}
	for range 200 {
		l.sent(10, 30*time.Microsecond) // 3 us each
	}
	last := time.Duration(0)
	for _, c := range []struct {
		viewers     int
		least, most time.Duration
	}{{1, 0, 0}, {50, 0, 5 * time.Millisecond}, {500, 20 * time.Millisecond, 40 * time.Millisecond}, {5000, most, most}} {
		got := l.merge(c.viewers, most)
		if got < c.least || got > c.most || got < last {
			t.Errorf("%d viewers: %v, want %v to %v", c.viewers, got, c.least, c.most)
		}
		last = got
	}
	l.sent(0, time.Hour)
	l.sent(1, time.Hour) // the machine stood still
	if got := l.merge(1, most); got > most {
		t.Errorf("%v after one that took long", got)
	}
}

// With few viewers a frame is not held back, however long it might be.
func TestAdaptingViewerHasFramesAtOnce(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{Loops: 1})
	s, c := pair(t)
	add(t, w, s, p.Stream(), ViewerOptions{FromStart: true, Merge: time.Hour, Adapt: true})
	head := 13
	for i := range 20 {
		g := video(uint32(i)*40, i == 0, 100)
		send(t, p, g)
		if _, err := io.ReadFull(c, make([]byte, head+len(g.body)+15)); err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		head = 0
	}
}
