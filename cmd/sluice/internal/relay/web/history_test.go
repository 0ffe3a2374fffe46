package web

import (
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/live"
)

func TestHistoryOfOneStream(t *testing.T) {
	r := &series{at: time.Unix(1000, 0)}
	f := live.StreamStats{Viewers: 3, GOPFrames: 50, GOPTime: 2 * time.Second}
	for i := 1; i <= maxPoints+7; i++ {
		f.BytesIn += 1000
		f.BytesOut += 3000
		f.FramesIn += 10
		f.Dropped += int64(i)
		r.add(time.Unix(1000+2*int64(i), 0), f)
	}
	h := newHistory(2 * time.Second)
	st := &live.Stream{}
	h.series[st] = r
	points, last := h.all(st)
	if len(points) != maxPoints || !last.Equal(time.Unix(1000+2*(maxPoints+7), 0)) {
		t.Fatalf("%d points, the last at %v", len(points), last)
	}
	for i, p := range points {
		if want := (point{viewers: 3, in: 4000, out: 12000, fps: 25, dropped: int64(i + 8)}); p != want {
			t.Fatalf("point %d is %+v, want %+v", i, p, want)
		}
	}
	if p := h.latest(time.Now(), st, f); p != points[maxPoints-1] {
		t.Errorf("the latest is %+v", p)
	}
	// Nothing comes: the pictures of the last group are over.
	r.add(time.Unix(10_000, 0), f)
	points, _ = h.all(st)
	if p := points[maxPoints-1]; p.fps != 0 || p.in != 0 || p.dropped != 0 || p.viewers != 3 {
		t.Errorf("without frames: %+v", p)
	}
}

func TestHistoryForgetsStreamsThatAreOver(t *testing.T) {
	hub := live.NewHub(live.HubOptions{})
	defer hub.Close()
	h := newHistory(time.Second)
	publish := func(name string) *live.Publisher {
		p, err := hub.Publish(name, live.PublishOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, b := publish("live/a"), publish("live/b")
	if points, _ := h.all(a.Stream()); len(points) != 0 {
		t.Errorf("%d points before the first sample", len(points))
	}
	now := time.Now()
	h.sample(now, hub.Streams())
	h.sample(now.Add(time.Second), hub.Streams())
	a.Close()
	h.sample(now.Add(2*time.Second), hub.Streams())
	again := publish("live/a")
	h.sample(now.Add(3*time.Second), hub.Streams())
	var got []int
	for _, st := range []*live.Stream{a.Stream(), b.Stream(), again.Stream()} {
		points, _ := h.all(st)
		got = append(got, len(points))
	}
	if !slices.Equal(got, []int{0, 4, 1}) {
		t.Errorf("points: %v", got)
	}
}
