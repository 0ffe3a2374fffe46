package relay

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster"
)

// clusterMetrics are the metrics of a cluster. node is called when they are collected.
func clusterMetrics(node func() *cluster.Node) []prometheus.Collector {
	gauge := func(name, help string, of func(cluster.Status) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sluice_cluster_" + name, Help: help}, func() float64 { return of(node().Status()) })
	}
	counter := func(name, help string, of func(cluster.Status) float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "sluice_cluster_" + name + "_total", Help: help}, func() float64 { return of(node().Status()) })
	}
	return []prometheus.Collector{
		nodeFigures{node},
		gauge("nodes", "Nodes of the cluster that this one knows, itself included.", func(s cluster.Status) float64 { return float64(len(s.Nodes)) }),
		gauge("streams", "Streams that nodes publish.", func(s cluster.Status) float64 { return float64(len(s.Streams) - s.Pulls()) }),
		gauge("pulls", "Streams that nodes pull from one another.", func(s cluster.Status) float64 { return float64(s.Pulls()) }),
		gauge("links", "Connections to other nodes, or to NATS.", func(s cluster.Status) float64 { return float64(s.Links) }),
		counter("sent_bytes", "Bytes of control messages that were sent.", func(s cluster.Status) float64 { return float64(s.Sent) }),
		counter("received_bytes", "Bytes of control messages that came.", func(s cluster.Status) float64 { return float64(s.Received) }),
		counter("refused_messages", "Control messages that were not made with the cluster's secret, or came before.", func(s cluster.Status) float64 { return float64(s.Refused) }),
	}
}

// nodeFigures are metrics of all nodes, as this one knows them.
type nodeFigures struct{ node func() *cluster.Node }

var (
	nodeViewers = prometheus.NewDesc("sluice_cluster_node_viewers", "Viewers of each node; a node that pulls is a viewer of its source.", []string{"node"}, nil)
	nodeStreams = prometheus.NewDesc("sluice_cluster_node_streams", "Streams that each node has, with those that it pulls.", []string{"node"}, nil)
	nodeLoad    = prometheus.NewDesc("sluice_cluster_node_load", "The part of its limits that each node uses; 0 without limits.", []string{"node"}, nil)
)

// Describe implements prometheus.Collector.
func (nodeFigures) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{nodeViewers, nodeStreams, nodeLoad} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (f nodeFigures) Collect(to chan<- prometheus.Metric) {
	for _, n := range f.node().Nodes() {
		to <- prometheus.MustNewConstMetric(nodeViewers, prometheus.GaugeValue, float64(n.Viewers), n.Name)
		to <- prometheus.MustNewConstMetric(nodeStreams, prometheus.GaugeValue, float64(n.Streams), n.Name)
		to <- prometheus.MustNewConstMetric(nodeLoad, prometheus.GaugeValue, n.Load, n.Name)
	}
}
