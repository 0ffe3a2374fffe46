package web

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice/live"
)

// A figure of a stream is a metric.
type figure struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(live.StreamStats) float64
}

// A rest adds up the figures of the streams that have no metrics of their own. The sum of counters
// would fall when one of these streams ends, which Prometheus takes for a restart: it would add all
// that the others have ever done to the rate of that moment. So what is added since the scrape
// before is counted.
type rest struct {
	scraping sync.Mutex            // held from the list of streams on: an older one has streams that have ended
	latest   map[restKey][]float64 // of each stream, by figure
	counted  []float64             // by figure
}

// A restKey is a stream: another one may have its name later.
type restKey struct {
	name  string
	since time.Time
}

// sums returns the sums by figure. scraping is held.
func (r *rest) sums(streams []*live.Stream, figures []figure) []float64 {
	if r.counted == nil {
		r.counted = make([]float64, len(figures))
	}
	out := make([]float64, len(figures))
	latest := make(map[restKey][]float64, len(streams))
	for _, st := range streams {
		key, f, now := restKey{st.Name(), st.Since()}, st.Stats(), make([]float64, len(figures))
		before, known := r.latest[key]
		for i, m := range figures {
			now[i] = m.of(f)
			switch {
			case m.kind == prometheus.GaugeValue:
				out[i] += now[i]
			case known:
				r.counted[i] += now[i] - before[i]
			default:
				r.counted[i] += now[i]
			}
		}
		latest[key] = now
	}
	r.latest = latest
	for i, m := range figures {
		if m.kind == prometheus.CounterValue {
			out[i] = r.counted[i]
		}
	}
	return out
}
