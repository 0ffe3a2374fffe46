package diagnose

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// percent writes a share: "41 %", "0.4 %".
func percent(share float64) string {
	p := share * 100
	if p > 0 && p < 0.95 {
		return fmt.Sprintf("%.1f %%", p)
	}
	return fmt.Sprintf("%.0f %%", p)
}

// count writes a number with its thousands apart: "4,096".
func count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// bytes writes a number of bytes: "64 B", "64 KiB", "1,234 B".
func bytes(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return count(n>>20) + " MiB"
	case n >= 16<<10 && n%(1<<10) == 0:
		return count(n>>10) + " KiB"
	}
	return count(n) + " B"
}

// rate writes bytes for each second: "1.2 GB/s".
func rate(bytes int64, took time.Duration) string {
	if took <= 0 {
		return "0 MB/s"
	}
	r := float64(bytes) / took.Seconds()
	switch {
	case r >= 1e9:
		return fmt.Sprintf("%.1f GB/s", r/1e9)
	case r >= 10e6:
		return fmt.Sprintf("%.0f MB/s", r/1e6)
	}
	return fmt.Sprintf("%.1f MB/s", r/1e6)
}

// brief writes a duration with three digits.
func brief(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.3g ms", float64(d)/1e6)
	case d >= time.Microsecond:
		return fmt.Sprintf("%.3g µs", float64(d)/1e3)
	}
	return fmt.Sprintf("%d ns", d.Nanoseconds())
}

// volume writes bytes roughly: "1.2 GB", "340 kB".
func volume(n int64) string {
	switch v := float64(n); {
	case v >= 1e9:
		return fmt.Sprintf("%.3g GB", v/1e9)
	case v >= 1e6:
		return fmt.Sprintf("%.3g MB", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.3g kB", v/1e3)
	}
	return fmt.Sprintf("%d B", n)
}
