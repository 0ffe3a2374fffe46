package load

import (
	"cmp"
	"math"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/aclements/go-moremath/stats"
)

const (
	// mostClasses is how many classes of replies a target has at most.
	mostClasses = 8
	// slotTime is the step in which answers are counted.
	slotTime = 100 * time.Millisecond
	// seriesTime is one value of the time series.
	seriesTime = time.Second
	// The windows by due time are at most mostDue, whatever the time measured, and precise
	// to dueDigits, which bounds their memory to 3 MB for each thread.
	mostDue   = 60
	dueDigits = 2
	// The windows that the P99's jitter is taken over are at most mostJitter, of jitterTime or
	// more, and precise to jitterDigits: 3 MB for each thread.
	mostJitter   = 600
	jitterTime   = 100 * time.Millisecond
	jitterDigits = 1
)

// JitterEvery is how long a window is that the P99's jitter is taken over.
func JitterEvery(p *Plan) time.Duration {
	return max(jitterTime, (p.Duration+mostJitter-1)/mostJitter)
}

// A slot is what was answered within a slotTime, and when: the times are of its first and last
// answer, since the measuring began.
type slot struct {
	requests, bytes uint64
	first, last     time.Duration
}

// add adds answers, of which there is at least one.
func (s *slot) add(other slot) {
	if s.requests == 0 {
		s.first = other.first
	}
	s.first, s.last = min(s.first, other.first), max(s.last, other.last)
	s.requests += other.requests
	s.bytes += other.bytes
}

// A recorder records what one engine thread sees, and belongs to that thread; seen and seenBytes may
// be read by others.
type recorder struct {
	start, end int64 // of what is measured
	open       bool
	latency    *hdrhistogram.Histogram // from the intended time
	service    *hdrhistogram.Histogram // from the send
	due        windows
	jitter     windows
	slots      []slot
	sum, all   struct{ requests, bytes uint64 } // answered within the time measured, and since the run began
	lost       uint64                           // requests due in the time measured that were never answered
	classes    [mostClasses]uint64
	failure    string // what the first failing reply said

	seen, seenBytes atomic.Uint64 // of all, for progress
}

func (r *recorder) answered(now int64, q *request) {
	r.waited(now, q)
	payload := uint64(q.outcome.Payload)
	r.all.requests++
	r.all.bytes += payload
	if q.outcome.Says != "" && r.failure == "" {
		r.failure = q.outcome.Says
	}
	if now < r.start || now >= r.end {
		return
	}
	r.sum.requests++
	r.sum.bytes += payload
	r.classes[q.outcome.Class]++
	at := time.Duration(now - r.start)
	r.slots[at/slotTime].add(slot{1, payload, at, at})
}

func (r *recorder) publish() {
	r.seen.Store(r.all.requests)
	r.seenBytes.Store(r.all.bytes)
}

// unanswered records a request that was never answered. Its latency is the time that it has waited
// up to now, the least that it can be.
func (r *recorder) unanswered(now int64, q *request) {
	if r.waited(now, q) {
		r.lost++
	}
}

func (r *recorder) waited(now int64, q *request) bool {
	if q.intended < r.start || q.intended >= r.end {
		return false
	}
	record(r.latency, now-q.intended)
	if r.open {
		record(r.service, now-q.sent)
	}
	r.due.record(time.Duration(q.intended-r.start), now-q.intended)
	r.jitter.record(time.Duration(q.intended-r.start), now-q.intended)
	return true
}

func (r *recorder) merge(other *recorder) {
	r.latency.Merge(other.latency)
	if r.service != nil {
		r.service.Merge(other.service)
	}
	r.due.merge(&other.due)
	r.jitter.merge(&other.jitter)
	for i, from := range other.slots {
		if from.requests > 0 {
			r.slots[i].add(from)
		}
	}
	r.sum.requests += other.sum.requests
	r.sum.bytes += other.sum.bytes
	r.lost += other.lost
	r.failure = cmp.Or(r.failure, other.failure)
	for i, n := range other.classes {
		r.classes[i] += n
	}
}

func (r *recorder) dueWindows(measured time.Duration) []DueWindow {
	var list []DueWindow
	for i, h := range r.due.list[:measured/r.due.every] {
		w := DueWindow{At: time.Duration(i+1) * r.due.every}
		if h != nil {
			at := func(q float64) time.Duration { return time.Duration(h.ValueAtQuantile(q)) }
			w.Count, w.P50, w.P99, w.P999, w.Max = uint64(h.TotalCount()), at(50), at(99), at(99.9), time.Duration(h.Max())
		}
		list = append(list, w)
	}
	return list
}

// series is the answers of each whole second, and the longest time without one, unless that is
// within a slot.
func (r *recorder) series(measured time.Duration) (list []Second, gap time.Duration) {
	last := time.Duration(0)
	for _, s := range r.slots {
		if s.requests > 0 {
			gap, last = max(gap, s.first-last), s.last
		}
	}
	const each = int(seriesTime / slotTime)
	for at := seriesTime; at <= measured; at += seriesTime {
		second := Second{At: at}
		for _, s := range r.slots[len(list)*each:][:each] {
			second.Requests, second.Bytes = second.Requests+s.requests, second.Bytes+s.bytes
		}
		second.Rate = float64(second.Bytes) / seriesTime.Seconds()
		list = append(list, second)
	}
	return list, max(gap, measured-last)
}

func distribution(h *hdrhistogram.Histogram) *Distribution {
	if h == nil || h.TotalCount() == 0 {
		return nil
	}
	n := h.TotalCount()
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

// longest is the longest time that is recorded; longer times count as longest.
const longest = time.Hour

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(longest), 3) }

func record(h *hdrhistogram.Histogram, ns int64) {
	// Within its range it cannot fail.
	h.RecordValue(min(max(ns, 1), int64(longest)))
}

// windows are latencies by the window of time in which a request was due.
type windows struct {
	every  time.Duration
	digits int                       // how precise they are
	list   []*hdrhistogram.Histogram // nil: nothing was due; the last is not whole
}

// newWindows has room for what is due within d.
func newWindows(every time.Duration, digits int, d time.Duration) windows {
	return windows{every, digits, make([]*hdrhistogram.Histogram, d/every+1)}
}

func (w *windows) record(due time.Duration, ns int64) {
	i := due / w.every
	if w.list[i] == nil {
		w.list[i] = hdrhistogram.New(1, int64(longest), w.digits)
	}
	record(w.list[i], ns)
}

// merge adds what another thread recorded, which is not used on its own any more.
func (w *windows) merge(other *windows) {
	for i, h := range other.list {
		if w.list[i] == nil {
			w.list[i] = h
		} else if h != nil {
			w.list[i].Merge(h)
		}
	}
}

// spread is the standard deviation of the P99 over all whole windows in which something was due; 0 of
// fewer than two.
func (w *windows) spread(measured time.Duration) time.Duration {
	var p99 []float64
	for _, h := range w.list[:measured/w.every] {
		if h != nil {
			p99 = append(p99, float64(h.ValueAtQuantile(99)))
		}
	}
	if len(p99) < 2 {
		return 0
	}
	return time.Duration(stats.StdDev(p99))
}
