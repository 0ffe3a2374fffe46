package live

import (
	"testing"
	"time"
)

// A publisher is faster than real time by what it sends, not by a clock that was set.
func TestPace(t *testing.T) {
	const most = time.Second
	var p pace
	clock := int64(0)
	at := uint32(0)
	send := func(n int, step uint32, every time.Duration) (fast bool) {
		for range n {
			at += step
			clock += int64(every)
			fast = p.tooFast(at, clock, most)
		}
		return fast
	}
	if send(100, 40, 40*time.Millisecond) {
		t.Error("a live publisher is too fast")
	}
	at += 30 * 60_000
	if send(100, 40, 40*time.Millisecond) {
		t.Error("a live publisher is too fast after its clock was set")
	}
	at -= 30 * 60_000
	if send(100, 40, 40*time.Millisecond) {
		t.Error("a live publisher is too fast after its clock was set back")
	}
	if !send(100, 40, time.Millisecond) {
		t.Error("a file is not too fast")
	}
}
