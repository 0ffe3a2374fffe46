// Package units writes numbers for people: three significant digits, a unit that
// fits the size, thousands apart. All of the lab's texts, tables and pages use
// it.
//
// Times and rates scale by 1000, amounts of memory by 1024. Its functions may be
// called concurrently.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Number writes three significant digits, and all of those before the point: 0, 0.012,
// 1.5, 83.1, 661, 12,300.
func Number(value float64) string {
	switch abs := math.Abs(value); {
	case abs < 0.0005:
		return "0"
	case value == math.Trunc(value) && abs < 1000:
		return strconv.FormatFloat(value, 'f', 0, 64)
	case abs < 0.0995:
		return strconv.FormatFloat(value, 'f', 3, 64)
	case abs < 9.995:
		return strconv.FormatFloat(value, 'f', 2, 64)
	case abs < 99.95:
		return strconv.FormatFloat(value, 'f', 1, 64)
	}
	return Grouped(value)
}

// Grouped writes a whole number with a comma between thousands.
func Grouped(value float64) string {
	s := strconv.FormatFloat(value, 'f', 0, 64)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count writes a whole number with a comma between thousands.
func Count[T int | int64 | uint64](n T) string { return Grouped(float64(n)) }

// Plural writes a number of things: "1 round", "2 rounds".
func Plural[T int | int64 | uint64](n T, what string) string {
	if n != 1 {
		what += "s"
	}
	return Count(n) + " " + what
}

func scaled(value, step float64, names ...string) string {
	i := 0
	// 999.6 would be written as 1000 of the smaller unit.
	for i < len(names)-1 && math.Abs(value) >= step*0.9995 {
		value /= step
		i++
	}
	return Number(value) + " " + names[i]
}

// Time writes a duration with one unit: "83.1 µs".
func Time(d time.Duration) string { return Nanoseconds(float64(d)) }

// Nanoseconds writes a time that is given in them.
func Nanoseconds(ns float64) string { return scaled(ns, 1000, "ns", "µs", "ms", "s") }

// Bytes writes an amount of memory: "64 KiB".
func Bytes[T int | int64 | uint64 | float64](n T) string {
	return scaled(float64(n), 1024, "B", "KiB", "MiB", "GiB")
}

var sizes = []struct {
	name string
	of   int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// Exact writes a number of bytes so that ParseBytes reads the same: "64 KiB".
func Exact(n int64) string {
	for _, u := range sizes {
		if n >= u.of && n%u.of == 0 {
			return strconv.FormatInt(n/u.of, 10) + " " + u.name
		}
	}
	return strconv.FormatInt(n, 10) + " B"
}

// Short is Exact as flags have it: "64KiB", and "100" of bytes.
func Short(n int64) string { return strings.ReplaceAll(strings.TrimSuffix(Exact(n), " B"), " ", "") }

// ParseBytes reads a number of bytes, with KiB, MiB or GiB, or K, M or G for short.
func ParseBytes(text string) (int64, error) {
	number, of := text, int64(1)
	for _, u := range sizes {
		if cut, ok := strings.CutSuffix(text, u.name); ok {
			number, of = cut, u.of
			break
		}
		if cut, ok := strings.CutSuffix(text, u.name[:1]); ok && u.of > 1 {
			number, of = cut, u.of
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 0 || n > (1<<62)/of {
		return 0, fmt.Errorf("%.40q is not a size, such as 65536, 512KiB or 16MiB", text)
	}
	return n * of, nil
}

// Rate writes bytes a second: "1.2 GB/s".
func Rate(perSecond float64) string { return scaled(perSecond, 1000, "B/s", "kB/s", "MB/s", "GB/s") }

// Percent writes a share: "41 %", "0.4 %".
func Percent(share float64) string {
	if p := 100 * share; math.Abs(p) < 9.95 && math.Round(p*10) != 10*math.Round(p) {
		return fmt.Sprintf("%.1f %%", p)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// Ratio writes a ratio with two decimals, and fewer where two would be more than
// is measured.
func Ratio(value float64) string {
	switch {
	case value >= 99.5:
		return Grouped(value)
	case value >= 9.95:
		return fmt.Sprintf("%.1f", value)
	case value > 0 && value < 0.0095:
		return fmt.Sprintf("%.2g", value)
	}
	return fmt.Sprintf("%.2f", value)
}

// Span writes how long something takes, to the second: "12 s", "4 min 05 s".
func Span(d time.Duration) string {
	switch whole := d.Round(time.Second); {
	case d < 10*time.Second && d%time.Second != 0:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case whole < 2*time.Minute:
		return fmt.Sprintf("%d s", int(whole.Seconds()))
	case whole < 2*time.Hour:
		return fmt.Sprintf("%d min %02d s", int(whole.Minutes()), int(whole.Seconds())%60)
	default:
		return fmt.Sprintf("%d h %02d min", int(whole.Hours()), int(whole.Minutes())%60)
	}
}

// Figure writes a value of a metric. Its unit is the last word of its name, before
// what it is divided by: "ns/op", "stack-bytes/connection", "B/s"; "/s" is a plain
// number a second.
func Figure(value float64, metric string) string {
	name, _, _ := strings.Cut(metric, "/")
	switch name[strings.LastIndexByte(name, '-')+1:] {
	case "ns":
		return Nanoseconds(value)
	case "B", "bytes":
		if metric == "B/s" {
			return Rate(value)
		}
		return Bytes(value)
	case "%":
		return Percent(value / 100)
	}
	if metric == "/s" {
		return Number(value) + "/s"
	}
	return Number(value)
}
