package memory

import (
	"math"
	"runtime/debug"
	"testing"
)

// A server takes half of what there is, and never more than three quarters: the rest of the
// process needs room too, and a process that takes more than its control group has is killed.
func TestLimit(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct{ set, machine, want int64 }{
		{0, 0, 0},
		{64 * mib, 0, 64 * mib},
		{0, 256 * mib, 128 * mib},
		{100 * mib, 256 * mib, 100 * mib},
		{200 * mib, 256 * mib, 192 * mib},
		{math.MaxInt64, 256 * mib, 192 * mib},
	} {
		if got := Limit(c.set, c.machine); got != c.want {
			t.Errorf("%d of %d: %d, want %d", c.set, c.machine, got, c.want)
		}
	}
}

// Above GOMEMLIMIT the collector runs all the time.
func TestMachineKeepsToTheLimitOfTheRuntime(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	debug.SetMemoryLimit(64 << 20)
	if got := Machine(); got != 64<<20 {
		t.Errorf("%d bytes with GOMEMLIMIT=64MiB", got)
	}
}
