package report

import (
	"testing"

	"github.com/sluice-go/sluice/lab/internal/units"
)

func TestFiguresForPeople(t *testing.T) {
	for _, c := range []struct {
		value  float64
		metric string
		want   string
	}{
		{0, "ns/op", "0 ns"},
		{0.316, "ns/op", "0.32 ns"},
		{8.2, "ns/op", "8.20 ns"},
		{83.14, "ns/op", "83.1 ns"},
		{661.4, "cpu-ns/op", "661 ns"},
		{999.6, "ns/op", "1.00 µs"},
		{1240, "ns/op", "1.24 µs"},
		{45_600_000, "ns/op", "45.6 ms"},
		{3.2e12, "ns/op", "3,200 s"},
		{447, "B/conn", "447 B"},
		{1536, "B/op", "1.50 KiB"},
		{64 << 20, "bytes/conn", "64 MiB"},
		{83_400, "p50-ns", "83.4 µs"},
		{5120, "cpu-ns/request", "5.12 µs"},
		{1536, "rss-B/conn", "1.50 KiB"},
		{189_123, "req/s", "189,123"},
		{0.0625, "syscalls/op", "0.062"},
		{12, "gc-runs", "12"},
		{1234567, "syscalls/op", "1,234,567"},
		{0.00002, "allocs/op", "0"},
	} {
		if got := units.Figure(c.value, c.metric); got != c.want {
			t.Errorf("units.Figure(%v, %q) = %q, want %q", c.value, c.metric, got, c.want)
		}
	}
	if got := units.Range(61.2, 66.7, "ns/op"); got != "61.2 – 66.7 ns" {
		t.Error(got)
	}
	if got := units.Range(990, 1200, "ns/op"); got != "990 ns – 1.20 µs" {
		t.Error(got)
	}
}

func TestRatiosForPeople(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0.00", 0.0042: "0.0042", 0.08: "0.08", 0.854: "0.85", 1: "1.00", 9.94: "9.94", 12.34: "12.3", 489: "489", 12345: "12,345",
	} {
		if got := units.Ratio(value); got != want {
			t.Errorf("units.Ratio(%v) = %q, want %q", value, got, want)
		}
	}
}
