package relay

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/contain"
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

// buildInfo is 1, with the version.
func buildInfo(version string) prometheus.Collector {
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "sluice_build_info", Help: "1, with the version.", ConstLabels: prometheus.Labels{"version": version}})
	build.Set(1)
	return build
}

// faults are panics that ended one session or output.
func faults() prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "sluice_faults_total", Help: "Faults of the server itself, each of which has ended one session or output; the log has them."}, func() float64 { return float64(contain.Faults()) })
}

// memoryFigures are what max-memory bounds, and the bound.
func memoryFigures(used func() int64, limit int64) []prometheus.Collector {
	gauge := func(name, help string, of func() int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sluice_memory_" + name, Help: help}, func() float64 { return float64(of()) })
	}
	return []prometheus.Collector{
		gauge("used_bytes", "What max-memory bounds: counted memory that is checked out, and what the kernel holds for connections.", used),
		gauge("limit_bytes", "The bound. From nine tenths of it on the slowest viewers are closed, and publishers refused.", func() int64 { return limit }),
	}
}

// metrics are the figures of connections that have not made a request.
func (h handshakes) metrics() []prometheus.Collector {
	prefix := "sluice_" + strings.ToLower(h.protocol) + "_handshakes"
	gauge := func(name, help string, of func(listen.ArrivalStats) int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + name, Help: h.protocol + " connections that " + help}, func() float64 { return float64(of(h.Stats())) })
	}
	counter := func(name, help string, of func(listen.ArrivalStats) int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: prefix + name, Help: h.protocol + " connections that " + help}, func() float64 { return float64(of(h.Stats())) })
	}
	return []prometheus.Collector{
		gauge("", "hold a place on their way to a request.", func(a listen.ArrivalStats) int { return a.On }),
		gauge("_waiting", "wait for a place on their way to a request.", func(a listen.ArrivalStats) int { return a.Waiting }),
		counter("_displaced_total", "were silent and had to give way.", func(a listen.ArrivalStats) int64 { return a.GaveWay }),
		counter("_refused_total", "were closed because too many waited.", func(a listen.ArrivalStats) int64 { return a.Refused }),
	}
}
