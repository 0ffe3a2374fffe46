package load

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// An aggregator aggregates the windows of all recorders. A window is complete when every
// recorder has ended it. Its methods may be called from any goroutine.
type aggregator struct {
	start, end int64 // of what is measured, in nanoseconds since the run began
	windows    Windows
	recorders  int

	mu      sync.Mutex
	p99s    []WindowP99
	series  []Second
	pending map[int]*pendingWindow
	seconds map[int]*pendingSecond
	spare   []*hdrhistogram.Histogram
	notify  func(Progress)
	errors  func() uint64
}

type pendingWindow struct {
	parts int
	sum   *hdrhistogram.Histogram // nil until something comes
}

type pendingSecond struct {
	parts int
	sum   Second
}

func newAggregator(p *Plan, recorders int) *aggregator {
	return &aggregator{
		start: int64(p.Warmup), end: int64(p.Warmup + p.Duration), windows: p.Windows, recorders: recorders,
		pending: map[int]*pendingWindow{}, seconds: map[int]*pendingSecond{},
	}
}

// endWindow adds a recorder's part of a P99 window; h is borrowed.
func (b *aggregator) endWindow(number int, h *hdrhistogram.Histogram) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.recorders == 1 {
		b.keep(number, h)
		return
	}
	w := b.pending[number]
	if w == nil {
		w = &pendingWindow{}
		b.pending[number] = w
	}
	if h.TotalCount() > 0 {
		if w.sum == nil {
			w.sum = b.histogram()
		}
		w.sum.Merge(h)
	}
	if w.parts++; w.parts < b.recorders {
		return
	}
	delete(b.pending, number)
	if w.sum != nil {
		b.keep(number, w.sum)
		w.sum.Reset()
		b.spare = append(b.spare, w.sum)
	}
}

func (b *aggregator) histogram() *hdrhistogram.Histogram {
	if n := len(b.spare); n > 0 {
		h := b.spare[n-1]
		b.spare = b.spare[:n-1]
		return h
	}
	return newHistogram()
}

func (b *aggregator) keep(number int, h *hdrhistogram.Histogram) {
	if n := h.TotalCount(); n > 0 {
		b.p99s = append(b.p99s, WindowP99{
			At: time.Duration(number+1) * b.windows.P99, Count: uint64(n), P99: time.Duration(h.ValueAtQuantile(99)),
		})
	}
}

// secondAfter returns the end of the time series' window that begins at begin. A new
// window begins with the time measured; the rest of the warm-up before it is in no
// window.
func (b *aggregator) secondAfter(begin int64) int64 {
	end := begin + int64(b.windows.Throughput)
	if end > b.start && begin < b.start {
		return b.start + int64(b.windows.Throughput)
	}
	return end
}

// endSecond adds a recorder's part of a window of the time series. Those of the
// warm-up come first: notify gets them and they are not kept.
func (b *aggregator) endSecond(number int, part Second) {
	b.mu.Lock()
	s := b.seconds[number]
	if s == nil {
		s = &pendingSecond{}
		b.seconds[number] = s
	}
	s.sum.Requests += part.Requests
	s.sum.Bytes += part.Bytes
	if s.parts++; s.parts < b.recorders {
		b.mu.Unlock()
		return
	}
	delete(b.seconds, number)
	step := b.windows.Throughput
	warm := int(time.Duration(b.start) / step) // whole windows of the warm-up
	at := s.sum
	at.Rate = float64(at.Bytes) / step.Seconds()
	progress := Progress{Elapsed: time.Duration(number+1) * step, Measuring: number >= warm}
	if progress.Measuring {
		at.At = time.Duration(number-warm+1) * step
		progress.Elapsed = time.Duration(b.start) + at.At
		b.series = append(b.series, at)
		at.Mean = b.mean(len(b.series) - 1)
		b.series[len(b.series)-1].Mean = at.Mean
	} else {
		at.At, at.Mean = progress.Elapsed, at.Rate
	}
	progress.Second = at
	b.mu.Unlock()
	if b.notify != nil {
		progress.Errors = b.errors()
		b.notify(progress)
	}
}

// mean is the moving mean that ends with a window of the series.
func (b *aggregator) mean(last int) float64 {
	n := min(last+1, max(1, int(b.windows.Mean/b.windows.Throughput)))
	sum := 0.0
	for _, s := range b.series[last+1-n : last+1] {
		sum += s.Rate
	}
	return sum / float64(n)
}

// jitters returns the standard deviation of the P99s in each whole span of windows, and
// the median of the deviations. For a run shorter than one span it takes all P99s.
func jitters(p99s []WindowP99, w Windows, measured time.Duration) (spans []Span, middle time.Duration) {
	span := min(w.Jitter, measured.Truncate(w.P99))
	if span <= 0 {
		return nil, 0
	}
	for at := span; at <= measured; at += span {
		var values []float64
		for _, p := range p99s {
			if p.At > at-span && p.At <= at {
				values = append(values, float64(p.P99))
			}
		}
		if len(values) >= 2 {
			spans = append(spans, Span{At: at, StdDev: time.Duration(deviation(values)), N: len(values)})
		}
	}
	if len(spans) == 0 {
		return nil, 0
	}
	sorted := make([]time.Duration, len(spans))
	for i, s := range spans {
		sorted[i] = s.StdDev
	}
	slices.Sort(sorted)
	n := len(sorted)
	return spans, (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// deviation is the standard deviation of a sample, of at least two values.
func deviation(values []float64) float64 {
	mean := 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	sum := 0.0
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(len(values)-1))
}
