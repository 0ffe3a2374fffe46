package memory

import (
	"runtime/debug"
	"testing"
	"time"
)

// Memory is returned when there is more of it than the last time, and enough.
func TestSpareMemoryIsReturnedOnceThereIsEnough(t *testing.T) {
	const mib = 1 << 20
	var s spare
	now := time.Now()
	for _, step := range []struct {
		after            time.Duration
		idle, used, live int64
		due              bool
		left             int64 // after it was returned
	}{
		{time.Second, 3 * mib, 0, 0, false, 0},
		{time.Second, 5 * mib, 12 * mib, 0, false, 0},
		{time.Second, 5 * mib, 0, 12 * mib, false, 0},
		{time.Second, 7 * mib, 12 * mib, 12 * mib, true, 2 * mib},
		{giveEvery / 2, 20 * mib, 0, 0, false, 0},
		{giveEvery / 2, 6 * mib, 0, 0, false, 0}, // 4 more than was left
		{0, 7 * mib, 0, 0, true, 6 * mib},
		{giveEvery, 9 * mib, 0, 0, false, 0},
		{giveEvery, 1 * mib, 0, 0, false, 0},
		{0, 6 * mib, 0, 0, true, 0},
	} {
		now = now.Add(step.after)
		if got := s.due(now, step.idle, step.used, step.live); got != step.due {
			t.Fatalf("%+v: due is %v", step, got)
		}
		if step.due {
			s.returned(now, step.left)
		}
	}
}

var sink []byte

// Garbage that was not collected yet counts as idle: a server that has become quiet would
// keep it for minutes.
func TestGarbageIsIdle(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	debug.FreeOSMemory()
	before, _ := heap()
	for range 64 {
		sink = make([]byte, 1<<20)
	}
	sink = nil
	if after, _ := heap(); after-before < 60<<20 {
		t.Errorf("64 MiB of garbage made idle memory grow from %d to %d bytes", before, after)
	}
	debug.FreeOSMemory()
	if after, _ := heap(); after-before > 16<<20 {
		t.Errorf("after a collection idle memory has grown from %d to %d bytes", before, after)
	}
}
