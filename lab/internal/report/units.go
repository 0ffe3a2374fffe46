package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// figure writes a value of a metric for people: scaled to its size, three
// significant digits, with a unit where the metric has one: the last word of its
// name, before what it is divided by.
func figure(value float64, metric string) string {
	unit, _, _ := strings.Cut(metric, "/")
	switch unit[strings.LastIndexByte(unit, '-')+1:] {
	case "ns":
		return scaled(value, 1000, "ns", "µs", "ms", "s")
	case "B", "bytes":
		return scaled(value, 1024, "B", "KiB", "MiB", "GiB")
	}
	return number(value)
}

// figureRange writes two values of a metric, with the unit once if it is the
// same.
func figureRange(lo, hi float64, metric string) string {
	from, to := figure(lo, metric), figure(hi, metric)
	if value, unit, ok := strings.Cut(from, " "); ok && strings.HasSuffix(to, " "+unit) {
		from = value
	}
	return from + " – " + to
}

func scaled(value, step float64, units ...string) string {
	i := 0
	// 999.6 would be written as 1000 of the smaller unit.
	for i < len(units)-1 && math.Abs(value) >= step*0.9995 {
		value /= step
		i++
	}
	return number(value) + " " + units[i]
}

// number writes three significant digits, and no more zeros than needed for a
// whole number: 0, 0.012, 1.5, 83.1, 661, 12,300.
func number(value float64) string {
	switch abs := math.Abs(value); {
	case abs < 0.0005:
		return "0"
	case abs < 10:
		return trim(value, 2, abs < 0.1)
	case abs < 100:
		return trim(value, 1, false)
	}
	return grouped(value)
}

func trim(value float64, decimals int, small bool) string {
	if small {
		decimals++
	}
	s := strconv.FormatFloat(value, 'f', decimals, 64)
	if value == math.Trunc(value) {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return s
}

func grouped(value float64) string {
	s := strconv.FormatFloat(value, 'f', 0, 64)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// ratioText writes a ratio with two decimals, and one where two would be more
// than anybody measures.
func ratioText(value float64) string {
	switch {
	case value >= 99.5:
		return grouped(value)
	case value >= 9.95:
		return fmt.Sprintf("%.1f", value)
	case value > 0 && value < 0.0095:
		return fmt.Sprintf("%.2g", value)
	}
	return fmt.Sprintf("%.2f", value)
}

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
