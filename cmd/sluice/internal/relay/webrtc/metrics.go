package webrtc

import "github.com/prometheus/client_golang/prometheus"

// Metrics returns the metrics of the server.
func (s *Server) Metrics() []prometheus.Collector {
	gauge := func(name, help string, of func(Figures) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sluice_webrtc_" + name, Help: help}, func() float64 { return of(s.Figures()) })
	}
	return []prometheus.Collector{
		gauge("sessions", "Sessions of WebRTC that have an answer.", func(f Figures) float64 { return float64(f.Sessions) }),
		gauge("pending", "Sessions of WebRTC that have an answer and no media yet.", func(f Figures) float64 { return float64(f.Pending) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "sluice_webrtc_strangers_total", Help: "Packets over UDP that were of no session."},
			func() float64 { return float64(s.Figures().Strangers) }),
	}
}
