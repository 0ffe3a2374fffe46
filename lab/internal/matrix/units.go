package matrix

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// written writes a figure for people in three significant digits with a unit of
// its size. What is counted by the second is written without that: the head of
// the table says it.
func written(value float64, metric string) string {
	unit, _, _ := strings.Cut(metric, "/")
	switch unit {
	case "ns":
		return scaled(value, 1000, "ns", "µs", "ms", "s")
	case "B":
		return scaled(value, 1024, "B", "KiB", "MiB", "GiB")
	}
	return digits(value)
}

func scaled(value, step float64, units ...string) string {
	i := 0
	for i < len(units)-1 && value >= step*0.9995 {
		value /= step
		i++
	}
	return digits(value) + " " + units[i]
}

// digits writes three significant digits: 0.012, 1.5, 83.1, 661, 12,300.
func digits(value float64) string {
	switch {
	case value < 0.0005:
		return "0"
	case value == math.Trunc(value) && value < 1000:
		return strconv.FormatFloat(value, 'f', 0, 64)
	case value < 9.995:
		return strconv.FormatFloat(value, 'f', 2, 64)
	case value < 99.95:
		return strconv.FormatFloat(value, 'f', 1, 64)
	case value < 1e15:
		return thousands(value)
	}
	return strconv.FormatFloat(value, 'g', 3, 64)
}

// thousands writes a whole number in three significant digits in groups.
func thousands(value float64) string {
	unit := math.Pow(10, max(0, math.Floor(math.Log10(value))-2))
	s := strconv.FormatFloat(math.Round(value/unit)*unit, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// percent writes a share in whole percent, and small ones with a decimal.
func percent(share float64) string {
	if share < 0.0995 && share > 0 {
		return fmt.Sprintf("%.1f %%", 100*share)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// Span writes a time for people, to the second, or to the minute where that is
// enough.
func Span(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}
