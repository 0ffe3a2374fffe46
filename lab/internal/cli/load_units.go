package cli

import (
	"math"
	"strconv"
	"time"
)

// span writes a duration with three significant digits and one unit.
func span(d time.Duration) string {
	return scaled(float64(d), 1000, "ns", "µs", "ms", "s")
}

// byteRate writes bytes a second.
func byteRate(perSecond float64) string {
	return scaled(perSecond, 1000, "B/s", "kB/s", "MB/s", "GB/s")
}

// memory writes bytes.
func memory(bytes float64) string {
	return scaled(bytes, 1024, "B", "KiB", "MiB", "GiB")
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

// number writes three significant digits: 0, 0.012, 1.5, 83.1, 661, 12,300.
func number(value float64) string {
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
	return grouped(value)
}

// grouped writes a whole number with a comma between thousands.
func grouped(value float64) string {
	s := strconv.FormatFloat(value, 'f', 0, 64)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// percent writes a share.
func percent(share float64) string {
	return number(100*share) + " %"
}
