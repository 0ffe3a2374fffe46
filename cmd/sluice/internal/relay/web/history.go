package web

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/sluice-go/sluice/live"
)

// maxPoints is how far back the history goes, in samples.
const maxPoints = 150

// history holds a few figures of each stream, sampled at fixed intervals while
// the stream exists.
type history struct {
	step time.Duration

	mu      sync.Mutex
	samples int // how many were taken
	series  map[*live.Stream]*series
}

// series are the samples of one stream.
type series struct {
	points []point // a ring once it is full
	next   int     // then the index of the next sample
	last   totals  // at the latest sample
	at     time.Time
	sample int // number of the latest
}

// totals are figures that never decrease.
type totals struct{ bytesIn, bytesOut, framesIn, dropped int64 }

// point is one sample.
type point struct {
	viewers int
	in, out int64 // bits a second since the sample before
	fps     float64
	dropped int64 // since the sample before
}

func newHistory(step time.Duration) *history {
	return &history{step: step, series: map[*live.Stream]*series{}}
}

// run samples until ctx is done.
func (h *history) run(ctx context.Context, sample func(now time.Time)) {
	tick := time.NewTicker(h.step)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			sample(now)
		case <-ctx.Done():
			return
		}
	}
}

func (h *history) sample(now time.Time, streams []*live.Stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.samples++
	for _, st := range streams {
		r := h.series[st]
		if r == nil {
			r = &series{at: st.Since()}
			h.series[st] = r
		}
		r.add(now, st.Stats())
		r.sample = h.samples
	}
	if len(h.series) > len(streams) {
		maps.DeleteFunc(h.series, func(_ *live.Stream, r *series) bool { return r.sample != h.samples })
	}
}

func (r *series) add(now time.Time, f live.StreamStats) {
	t := totals{f.BytesIn, f.BytesOut, f.FramesIn, f.Dropped}
	p := pointOf(f, r.last, t, now.Sub(r.at))
	r.last, r.at = t, now
	if len(r.points) < maxPoints {
		r.points = append(r.points, p)
		return
	}
	r.points[r.next] = p
	r.next = (r.next + 1) % maxPoints
}

// pointOf computes the sample of an interval.
func pointOf(f live.StreamStats, from, to totals, took time.Duration) point {
	p := point{viewers: f.Viewers, dropped: to.dropped - from.dropped}
	if seconds := took.Seconds(); seconds > 0 {
		p.in = int64(float64(to.bytesIn-from.bytesIn) * 8 / seconds)
		p.out = int64(float64(to.bytesOut-from.bytesOut) * 8 / seconds)
	}
	// The picture rate is that of the latest complete group, as long as frames
	// come.
	if to.framesIn > from.framesIn && f.GOPTime > 0 {
		p.fps = float64(f.GOPFrames) / f.GOPTime.Seconds()
	}
	return p
}

// latest returns the newest sample of a stream, or, before its first sample, its
// figures up to now.
func (h *history) latest(now time.Time, st *live.Stream, f live.StreamStats) point {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.series[st]; r != nil {
		return r.points[(r.next+len(r.points)-1)%len(r.points)]
	}
	return pointOf(f, totals{}, totals{f.BytesIn, f.BytesOut, f.FramesIn, f.Dropped}, now.Sub(st.Since()))
}

// all returns the samples of a stream, the oldest first, and when the last of
// them was taken.
func (h *history) all(st *live.Stream) (points []point, last time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.series[st]
	if r == nil {
		return nil, time.Time{}
	}
	return append(append(make([]point, 0, len(r.points)), r.points[r.next:]...), r.points[:r.next]...), r.at
}
