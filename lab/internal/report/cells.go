package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/stats"
	"github.com/sluice-go/sluice/lab/internal/units"
)

func barCell(in *stats.Interval) document.Cell {
	return document.Cell{Text: units.Ratio(in.Median), Bar: &document.Bar{Median: in.Median, Lo: in.Lo, Hi: in.Hi}}
}

func rangeCell(in *stats.Interval) document.Cell {
	return document.Cell{Text: units.Ratio(in.Lo) + " .. " + units.Ratio(in.Hi)}
}

func ratioCell(r Row) document.Cell {
	c := barCell(r.Ratio)
	switch r.Verdict {
	case "less":
		c.Style = document.Good
	case "more":
		c.Style = document.Bad
	case "~":
		c.Text, c.Style, c.About = "~", document.Dim, c.Text
	default:
		c.Style, c.About = document.Dim, r.Verdict
	}
	return c
}

func valueText(t TargetResult, v float64) string {
	if t.Against != "" {
		return units.Ratio(v)
	}
	return units.Figure(v, t.Metric)
}

func ordered(metrics, first, last []string) {
	rank := func(name string) int {
		if i := slices.Index(first, name); i >= 0 {
			return i - len(first)
		}
		return slices.Index(last, name) + 1
	}
	slices.SortFunc(metrics, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b)) })
}

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
