package cli

import (
	"math"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/units"
)

func TestRates(t *testing.T) {
	for _, c := range []struct {
		text  string
		rate  float64
		bytes bool
	}{
		{"0", 0, false}, {"5000", 5000, false}, {"5000/s", 5000, false}, {"0.5", 0.5, false}, {"1e4", 1e4, false}, {"2.5 /s", 2.5, false},
		{"20MB/s", 20e6, true}, {"20 MB/s", 20e6, true}, {"20MB", 20e6, true}, {"10MiB/s", 10 << 20, true}, {"80Mbit/s", 10e6, true},
		{"8bit/s", 1, true}, {"1kbit/s", 125, true}, {"1Gbit/s", 125e6, true}, {"1kB/s", 1000, true}, {"1KiB/s", 1024, true}, {"3B/s", 3, true}, {"1GiB/s", 1 << 30, true}, {"2GB/s", 2e9, true},
		{"0MB/s", 0, true},
	} {
		if rate, bytes, err := parseRate(c.text); err != nil || rate != c.rate || bytes != c.bytes {
			t.Errorf("%q: %v, %v, %v", c.text, rate, bytes, err)
		}
	}
	for _, text := range []string{"", "/s", "fast", "-1", "NaN", "Inf", "1e99", "5000/m", "5Mb/s", "5 k", "MB/s", "1.2.3", "5000/s/s", "20mb/s"} {
		if rate, _, err := parseRate(text); err == nil {
			t.Errorf("%q is taken for %v", text, rate)
		}
	}
}

// FuzzRate holds that a rate that is taken is a number that a plan can have.
func FuzzRate(f *testing.F) {
	for _, text := range []string{"5000", "5000/s", "20MB/s", "80Mbit/s", "1e9", "NaN", "0x1p4"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if rate, _, err := parseRate(text); err == nil && (!(rate >= 0) || math.IsInf(rate, 0)) {
			t.Errorf("%q: %v", text, rate)
		}
	})
}

func TestFiguresForPeople(t *testing.T) {
	for value, want := range map[float64]string{0: "0", 0.0001: "0", 0.012: "0.012", 0.5: "0.50", 2: "2", 2.02: "2.02", 9.996: "10.0", 10: "10", 83.14: "83.1", 99.96: "100", 661.4: "661", 12345.6: "12,346", 1e6: "1,000,000", -1234: "-1,234", -123: "-123"} {
		if got := units.Number(value); got != want {
			t.Errorf("%v: %q, want %q", value, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0 ns", 999: "999 ns", 1000: "1 µs", 1500: "1.50 µs", 999_600: "1.00 ms", time.Second: "1 s", time.Hour: "3,600 s", 58_249 * time.Nanosecond: "58.2 µs"} {
		if got := units.Time(d); got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
}
