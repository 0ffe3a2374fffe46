package relay

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
)

// hookTimes is a histogram of hook call durations, by result. It is made before
// the gate, which fills it.
func hookTimes() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "sluice_hook_duration_seconds",
		Help:    "Times of questions to the hook, by what came of them.",
		Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 3},
	}, []string{"result"})
}

// measure adds the metrics of the other packages to those of the web server.
func (s *Server) measure() {
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "sluice_build_info", Help: "1, with the version.", ConstLabels: prometheus.Labels{"version": s.version}})
	build.Set(1)
	s.web.Metrics.MustRegister(
		build,
		s.hookTimes,
	)
	s.web.Metrics.MustRegister(arrivals("RTMP", s.rtmp.Arrivals.Stats)...)
	s.web.Metrics.MustRegister(arrivals("HTTP", s.web.Arrivals.Stats)...)
	if s.origin != nil {
		s.web.Metrics.MustRegister(
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sluice_pulls", Help: "Streams that are being pulled from an origin."}, func() float64 { return float64(s.origin.on.Load()) }),
			prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "sluice_pulls_total", Help: "Streams that an origin has begun to send."}, func() float64 { return float64(s.origin.began.Load()) }),
		)
	}
	if s.recordings != nil {
		s.web.Metrics.MustRegister(s.recordings.metrics()...)
	}
}

// observeHook records the duration of a hook call.
func (s *Server) observeHook(took time.Duration, result string) {
	s.hookTimes.WithLabelValues(result).Observe(took.Seconds())
}

// arrivals are the figures of connections that have not made a request.
func arrivals(protocol string, stats func() listen.ArrivalStats) []prometheus.Collector {
	prefix := "sluice_" + strings.ToLower(protocol) + "_handshakes"
	gauge := func(name, help string, of func(listen.ArrivalStats) int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + name, Help: protocol + " connections that " + help}, func() float64 { return float64(of(stats())) })
	}
	counter := func(name, help string, of func(listen.ArrivalStats) int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: prefix + name, Help: protocol + " connections that " + help}, func() float64 { return float64(of(stats())) })
	}
	return []prometheus.Collector{
		gauge("", "hold a place on their way to a request.", func(a listen.ArrivalStats) int { return a.On }),
		gauge("_waiting", "wait for such a place.", func(a listen.ArrivalStats) int { return a.Waiting }),
		counter("_displaced_total", "were silent and had to give way.", func(a listen.ArrivalStats) int64 { return a.GaveWay }),
		counter("_refused_total", "were closed because too many waited.", func(a listen.ArrivalStats) int64 { return a.Refused }),
	}
}
