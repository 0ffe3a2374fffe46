package soak

import (
	"testing"
	"time"
)

func TestHistogram(t *testing.T) {
	var h histogram
	if got := h.percentile(99); got != -time.Second {
		t.Errorf("of none: %v", got)
	}
	for i := range 1000 {
		h.add(time.Duration(i) * time.Millisecond)
	}
	if got := h.percentile(99); got > 990*time.Millisecond || got < 990*time.Millisecond*7/8 {
		t.Errorf("99th percentile of 0 to 999 ms: %v", got)
	}
	for _, d := range []time.Duration{0, 1, 7, 8, 15, 16, 17, 1000, time.Hour, 1<<63 - 1} {
		if got := least(step(uint64(d))); got > d || d-got > d/8 {
			t.Errorf("step of %d begins at %d", d, got)
		}
	}
}

// What the watch notes takes no memory, however fast the load is.
func TestLatenciesTakeNoMemory(t *testing.T) {
	var w Watch
	if n := testing.AllocsPerRun(1000, func() { w.Latency(time.Millisecond) }); n > 0 {
		t.Errorf("%v allocations for one", n)
	}
}
