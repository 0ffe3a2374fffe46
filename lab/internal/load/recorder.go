package load

import (
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// longest is the longest time that is recorded; longer times count as longest.
const longest = time.Hour

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(longest), 3) }

func record(h *hdrhistogram.Histogram, ns int64) {
	// Within its range it cannot fail.
	h.RecordValue(min(max(ns, 1), int64(longest)))
}

// mostClasses is how many classes of replies a target has at most.
const mostClasses = 8

// A recorder records what one engine thread sees, and belongs to that thread. The aggregator
// aggregates what all threads see.
type recorder struct {
	aggregator *aggregator
	open       bool
	dueEvery   time.Duration
	latency    *hdrhistogram.Histogram // from the intended time
	service    *hdrhistogram.Histogram // from the send

	window    *hdrhistogram.Histogram // latencies of the P99 window under way
	windows   int                     // windows that are over
	windowEnd int64
	second    Second // the time series' window under way
	seconds   int
	secondEnd int64

	due []*hdrhistogram.Histogram // latencies by the window in which a request was due

	warm            uint64 // requests answered before the time measured
	requests, bytes uint64 // answered within it
	classes         [mostClasses]uint64
}

func newRecorder(b *aggregator, p *Plan) *recorder {
	r := &recorder{
		aggregator: b, open: p.Rate > 0, dueEvery: dueEvery(p), latency: newHistogram(), window: newHistogram(),
		windowEnd: b.start + int64(p.Windows.P99), secondEnd: b.secondAfter(0),
	}
	if r.open {
		r.service = newHistogram()
	}
	return r
}

// answered records an answer. It belongs to the windows that the last call of
// advance left open.
func (r *recorder) answered(now int64, q *request) {
	b := r.aggregator
	if q.intended >= b.start && q.intended < b.end {
		r.measured(now, q)
	}
	if now >= b.start || r.secondEnd <= b.start {
		r.second.Requests++
		r.second.Bytes += uint64(q.outcome.Payload)
	}
	if now < b.start {
		r.warm++
	}
	if now >= b.start && now < b.end {
		r.requests++
		r.bytes += uint64(q.outcome.Payload)
		r.classes[q.outcome.Class]++
		record(r.window, now-q.intended)
	}
}

// unanswered records a request that was never answered, with the time that it has
// waited up to now, the least that its latency can be.
func (r *recorder) unanswered(now int64, q *request) {
	if q.intended >= r.aggregator.start && q.intended < r.aggregator.end {
		r.measured(now, q)
	}
}

// measured records a request that was due within the time measured.
func (r *recorder) measured(now int64, q *request) {
	record(r.latency, now-q.intended)
	if r.open {
		record(r.service, now-q.sent)
	}
	i := int((q.intended - r.aggregator.start) / int64(r.dueEvery))
	for len(r.due) <= i {
		r.due = append(r.due, nil)
	}
	if r.due[i] == nil {
		r.due[i] = hdrhistogram.New(1, int64(longest), dueDigits)
	}
	record(r.due[i], now-q.intended)
}

// The windows by due time are at most so many, whatever the time measured, and precise
// to so many digits, which bounds their memory to 3 MB for each thread.
const (
	mostDue   = 60
	dueDigits = 2
)

// dueEvery is how long such a window is.
func dueEvery(p *Plan) time.Duration {
	return max(p.Windows.Throughput, (p.Duration+mostDue-1)/mostDue)
}

// dueWindows says what all recorders have of each window.
func dueWindows(recorders []*recorder, every, measured time.Duration) []DueWindow {
	var list []DueWindow
	for i := 0; time.Duration(i+1)*every <= measured; i++ {
		sum := hdrhistogram.New(1, int64(longest), dueDigits)
		for _, r := range recorders {
			if i < len(r.due) && r.due[i] != nil {
				sum.Merge(r.due[i])
			}
		}
		at := func(q float64) time.Duration { return time.Duration(sum.ValueAtQuantile(q)) }
		list = append(list, DueWindow{
			At: time.Duration(i+1) * every, Count: uint64(sum.TotalCount()), P50: at(50), P99: at(99), P999: at(99.9), Max: time.Duration(sum.Max()),
		})
	}
	return list
}

// advance ends the windows that are over. Every thread must call it before it
// records anything, and regularly while idle. It returns the latest time for the
// next call.
func (r *recorder) advance(now int64) int64 {
	b := r.aggregator
	for now >= r.windowEnd && r.windowEnd <= b.end {
		b.endWindow(r.windows, r.window)
		r.window.Reset()
		r.windows++
		r.windowEnd += int64(b.windows.P99)
	}
	for now >= r.secondEnd && r.secondEnd <= b.end {
		b.endSecond(r.seconds, r.second)
		r.second = Second{}
		r.seconds++
		r.secondEnd = b.secondAfter(r.secondEnd)
	}
	return min(r.windowEnd, r.secondEnd)
}

// distribution summarizes a histogram; nil for an empty one.
func distribution(h *hdrhistogram.Histogram) *Distribution {
	n := h.TotalCount()
	if n == 0 {
		return nil
	}
	at := func(q float64) time.Duration { return time.Duration(h.ValueAtQuantile(100 * q)) }
	d := &Distribution{
		Count: uint64(n), Min: time.Duration(h.Min()), Mean: time.Duration(h.Mean()), Max: time.Duration(h.Max()),
		P50: at(0.5), P90: at(0.9), P99: at(0.99), P999: at(0.999),
	}
	// Twenty points for each further nine, up to the last value.
	for k := 0; ; k++ {
		q := 1 - math.Pow(10, -float64(k)/20)
		if 1-q < 1/float64(n) || k == 120 {
			break
		}
		d.Curve = append(d.Curve, Quantile{q, at(q)})
	}
	d.Curve = append(d.Curve, Quantile{1, d.Max})
	return d
}
