package units_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/units"
)

func TestNumbersForPeople(t *testing.T) {
	for want, got := range map[string]string{
		"0": units.Number(0.0001), "0.012": units.Number(0.012), "1.50": units.Number(1.5), "83.1": units.Number(83.12), "661": units.Number(661.4),
		"12,300": units.Number(12300), "-12,300": units.Number(-12300), "7": units.Number(7), "1.00 s": units.Time(999_700_000), "83.1 µs": units.Time(83100),
		"64 KiB": units.Bytes(65536), "1.20 GB/s": units.Rate(1.2e9), "41 %": units.Percent(0.412), "0.4 %": units.Percent(0.004), "100 %": units.Percent(1),
		"0.85": units.Ratio(0.85), "12.3": units.Ratio(12.34), "0.005": units.Ratio(0.005), "1,234": units.Ratio(1234), "1 round": units.Plural(1, "round"),
		"1,000 rounds": units.Plural(1000, "round"), "12 s": units.Span(12 * time.Second), "1.5 s": units.Span(1500 * time.Millisecond),
		"4 min 05 s": units.Span(245 * time.Second), "2 h 03 min": units.Span(123 * time.Minute), "64.1 ns": units.Figure(64.1, "ns/op"),
		"2 MB/s": units.Figure(2e6, "B/s"), "2 KiB": units.Figure(2048, "stack-bytes/connection"), "12": units.Figure(12, "allocs/op"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// However a value is rounded, no text has more than three digits before its unit
// changes, and none is empty.
func TestUnitsFitTheSize(t *testing.T) {
	for e := -9.0; e < 9; e += 0.001 {
		v := math.Pow(10, e)
		if text := units.Nanoseconds(v); strings.HasPrefix(text, "1,000 ") && !strings.HasSuffix(text, " s") {
			t.Fatalf("%v ns is %q", v, text)
		}
	}
}

func TestSizesComeBackAsTheyWere(t *testing.T) {
	for n := range int64(5000) {
		for _, v := range []int64{n, n << 10, n << 20, n << 30, n<<20 + 1} {
			if got, err := units.ParseBytes(units.Exact(v)); err != nil || got != v {
				t.Fatalf("%d is written %q and read %d, %v", v, units.Exact(v), got, err)
			}
		}
	}
	for _, text := range []string{"", "x", "-1", "1MB", "KiB", "1.5K", "9223372036854775807G"} {
		if n, err := units.ParseBytes(text); err == nil {
			t.Errorf("%q is %d", text, n)
		}
	}
}
