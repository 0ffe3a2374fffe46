package hooks

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// eventMetrics are the figures of Events.
type eventMetrics struct {
	events    *prometheus.CounterVec
	sent      prometheus.Counter
	lost      prometheus.Counter
	durations *prometheus.HistogramVec
	gauges    []prometheus.Collector
}

func newEventMetrics(s *spool) *eventMetrics {
	gauge := func(name, help string, of func(bytes int64, lines int) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return of(s.size()) })
	}
	return &eventMetrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sluice_events_total", Help: "Events, by their kind."}, []string{"event"}),
		sent:   prometheus.NewCounter(prometheus.CounterOpts{Name: "sluice_events_delivered_total", Help: "Events that the receiver has accepted."}),
		lost:   prometheus.NewCounter(prometheus.CounterOpts{Name: "sluice_events_lost_total", Help: "Events for which the spool had no room."}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sluice_event_delivery_seconds", Help: "Times of deliveries of events, by what came of them.",
			Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10},
		}, []string{"result"}),
		gauges: []prometheus.Collector{
			gauge("sluice_events_waiting", "Events that are not delivered yet.", func(_ int64, lines int) float64 { return float64(lines) }),
			gauge("sluice_event_spool_bytes", "Bytes of the files in which events wait.", func(bytes int64, _ int) float64 { return float64(bytes) }),
		},
	}
}

func (m *eventMetrics) delivered(took time.Duration, events int, err error) {
	if err != nil {
		m.durations.WithLabelValues("failed").Observe(took.Seconds())
		return
	}
	m.durations.WithLabelValues("delivered").Observe(took.Seconds())
	m.sent.Add(float64(events))
}

// Metrics are the figures of the events and their deliveries.
func (e *Events) Metrics() []prometheus.Collector {
	return append([]prometheus.Collector{e.metrics.events, e.metrics.sent, e.metrics.lost, e.metrics.durations}, e.metrics.gauges...)
}
