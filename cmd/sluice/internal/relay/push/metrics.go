package push

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the numbers of pushes, by state.
func (p *Pusher) Metrics() prometheus.Collector { return collector{p} }

type collector struct{ pusher *Pusher }

var pushes = prometheus.NewDesc("sluice_pushes", "Streams on their way to a target, by state.", []string{"state"}, nil)

func (collector) Describe(ch chan<- *prometheus.Desc) { ch <- pushes }

func (c collector) Collect(ch chan<- prometheus.Metric) {
	count := map[string]int{}
	for _, s := range c.pusher.List() {
		count[s.State]++
	}
	for _, state := range []string{Connecting, Live, Behind, Waiting, Refused} {
		ch <- prometheus.MustNewConstMetric(pushes, prometheus.GaugeValue, float64(count[state]), state)
	}
}
