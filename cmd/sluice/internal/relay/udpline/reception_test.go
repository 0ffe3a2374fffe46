package udpline

import (
	"math"
	"testing"
	"time"
)

// What a viewer says of losses is bounded by what it was sent, whatever it says.
func TestReceptionByReports(t *testing.T) {
	var pictures, sound Reception
	pictures.Begin(90000)
	sound.Begin(8000)
	if lost, jitter, ok := Received(&pictures, nil, &sound); ok || lost != 0 || jitter != 0 {
		t.Errorf("before a report: %d, %v, %v", lost, jitter, ok)
	}
	for range 100 {
		pictures.Send()
	}
	for range 10 {
		sound.Send()
	}
	for _, c := range []struct {
		of     *Reception
		report Report
		lost   int64
		jitter time.Duration
	}{
		{&pictures, Report{Total: 3, Jitter: 900}, 3, 10 * time.Millisecond},
		{&sound, Report{Total: 2, Jitter: 160}, 5, 20 * time.Millisecond},
		{&pictures, Report{Total: -7}, 2, 20 * time.Millisecond}, // some came twice
		{&sound, Report{Total: 1<<23 - 1}, 10, 0},                // more than it was sent
		{&pictures, Report{Total: math.MaxInt32, Jitter: math.MaxUint32}, 110, math.MaxUint32 * time.Second / 90000},
		{&sound, Report{Total: math.MinInt32, Jitter: 1}, 100, math.MaxUint32 * time.Second / 90000},
	} {
		c.of.Hear(c.report)
		if lost, jitter, ok := Received(&pictures, nil, &sound); !ok || lost != c.lost || jitter != c.jitter {
			t.Errorf("%+v: %d lost, jitter %v, %v; want %d, %v", c.report, lost, jitter, ok, c.lost, c.jitter)
		}
	}
}
