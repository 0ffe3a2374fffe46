package live

import (
	"io"
	"testing"
	"time"
)

// A virtual loop sends every frame of a live stream to all its viewers and takes 6 us
// for each: 5 for the call and 1 for every frame in it.
type virtualLoop struct {
	load    load
	clock   time.Time
	viewers int
	merge   time.Duration // latest
	worst   time.Duration // that a frame waited in the last run
	busy    float64       // part of the last run that sending took
}

func (v *virtualLoop) run(d, most time.Duration) {
	const apart = time.Second / 73 // 30 pictures and 43 packets of sound
	var sending time.Duration
	began, due, waiting := v.clock, time.Time{}, []time.Time{}
	v.worst = 0
	last := v.clock
	for v.clock.Sub(began) < d {
		v.clock = v.clock.Add(apart)
		if len(waiting) == 0 {
			v.merge = v.load.merge(apart, most)
			due = last.Add(v.merge)
		}
		waiting = append(waiting, v.clock)
		if v.clock.Before(due) {
			continue
		}
		v.worst = max(v.worst, v.clock.Sub(waiting[0]))
		took := time.Duration(v.viewers) * time.Duration(5+len(waiting)) * time.Microsecond
		v.load.sent(v.clock, v.viewers, len(waiting), took)
		sending += took
		waiting, last = waiting[:0], v.clock
	}
	v.busy = sending.Seconds() / d.Seconds()
}

// Up to 50 viewers get each frame as it comes; the more a loop has to send the longer
// it collects, and it goes back when they have left.
func TestMergeFollowsTheLoad(t *testing.T) {
	const most = 95 * time.Millisecond
	v := virtualLoop{clock: time.Unix(1e9, 0)}
	for _, c := range []struct {
		viewers     int
		least, most time.Duration // that the worst frame waits
		busy        float64
	}{
		{1, 0, 0, 0.001},
		{50, 0, 0, 0.025},
		{120, 0, 0, 0.06},
		{150, 13 * time.Millisecond, 60 * time.Millisecond, 0.06},
		{250, 50 * time.Millisecond, most, 0.05},
		{500, 60 * time.Millisecond, most, 0.07},
		{2000, 80 * time.Millisecond, most, 0.25},
		{5000, 80 * time.Millisecond, most, 0.65},
		{50, 0, 0, 0.025},
	} {
		v.viewers = c.viewers
		v.run(5*time.Second, most) // to settle
		v.run(5*time.Second, most)
		if v.worst < c.least || v.worst > c.most || v.busy > c.busy {
			t.Errorf("%d viewers: a frame waits for %v, want %v to %v; sending takes %.3f, at most %.3f", c.viewers, v.worst, c.least, c.most, v.busy, c.busy)
		}
	}
}

func TestMergeForgetsAPause(t *testing.T) {
	var l load
	if got := l.merge(14*time.Millisecond, time.Second); got != 0 {
		t.Errorf("%v before anything is known", got)
	}
	now := time.Unix(1e9, 0)
	for range 500 {
		now = now.Add(14 * time.Millisecond)
		l.sent(now, 10, 1, 60*time.Microsecond)
	}
	l.sent(now, 0, 0, time.Hour)
	l.sent(now, 10, 1, time.Hour) // the machine stood still
	if got := l.merge(14*time.Millisecond, time.Second); got != 0 {
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
