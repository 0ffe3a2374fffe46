package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/aclements/go-moremath/stats"
)

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
	list   []*hdrhistogram.Histogram // nil: nothing was due
}

func (w *windows) record(due time.Duration, ns int64) {
	i := int(due / w.every)
	for len(w.list) <= i {
		w.list = append(w.list, nil)
	}
	if w.list[i] == nil {
		w.list[i] = hdrhistogram.New(1, int64(longest), w.digits)
	}
	record(w.list[i], ns)
}

// merge adds what another thread recorded, which is not used on its own any more.
func (w *windows) merge(other *windows) {
	for i, h := range other.list {
		switch {
		case i >= len(w.list):
			w.list = append(w.list, h)
		case w.list[i] == nil:
			w.list[i] = h
		case h != nil:
			w.list[i].Merge(h)
		}
	}
}

func (w *windows) whole(measured time.Duration) int { return int(measured / w.every) }

func (w *windows) at(i int) *hdrhistogram.Histogram {
	if i >= len(w.list) {
		return nil
	}
	return w.list[i]
}

// spread is the standard deviation of the P99 over all whole windows in which something was due; 0 of
// fewer than two.
func (w *windows) spread(measured time.Duration) time.Duration {
	var p99 []float64
	for i := range w.whole(measured) {
		if h := w.at(i); h != nil {
			p99 = append(p99, float64(h.ValueAtQuantile(99)))
		}
	}
	if len(p99) < 2 {
		return 0
	}
	return time.Duration(stats.StdDev(p99))
}
