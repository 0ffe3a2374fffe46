package cli

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/units"
)

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
