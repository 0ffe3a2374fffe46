package relay

import (
	"github.com/prometheus/client_golang/prometheus"
)

// nodeFigures are metrics of all nodes, as this one knows them.
type nodeFigures struct{ *clustered }

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
	for _, n := range f.clustered.node.Nodes() {
		to <- prometheus.MustNewConstMetric(nodeViewers, prometheus.GaugeValue, float64(n.Viewers), n.Name)
		to <- prometheus.MustNewConstMetric(nodeStreams, prometheus.GaugeValue, float64(n.Streams), n.Name)
		to <- prometheus.MustNewConstMetric(nodeLoad, prometheus.GaugeValue, n.Load, n.Name)
	}
}
