package report

import (
	"strings"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// metricLabel names a metric for a table's head: what of what.
func metricLabel(metric, op string) string {
	if op == "" {
		op = "op"
	}
	switch metric {
	case lab.NsPerOp:
		return "time/" + op
	case lab.CPUPerOp:
		return "CPU/" + op
	case lab.GCRuns:
		return "GCs"
	}
	if what, per, ok := strings.Cut(metric, "/"); ok && per == "op" {
		return what + "/" + op
	}
	return metric
}
