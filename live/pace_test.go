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

// A publisher that begins with what was there already is in real time soon after; one that waits
// for viewers, or goes on to get further ahead, is not.
func TestPaceOfOneThatBeganWithABacklog(t *testing.T) {
	const most = time.Second
	for _, c := range []struct {
		name  string
		every time.Duration // of 40 ms each
		held  bool
		fast  bool
	}{
		{"in real time", 40 * time.Millisecond, false, false},
		{"that waits", 40 * time.Millisecond, true, true},
		{"that is 5 % faster", 38 * time.Millisecond, false, true},
	} {
		var p pace
		at, clock := uint32(0), int64(0)
		send := func(n int, every time.Duration) (fast bool) {
			for range n {
				at += 40
				clock += int64(every)
				fast = p.tooFast(at, clock, most)
				p.held = p.held || c.held && fast
			}
			return fast
		}
		if send(125, time.Microsecond); !p.tooFast(at, clock, most) {
			t.Errorf("%s: 5 s at once are not too fast", c.name)
		}
		if fast := send(125, c.every); fast != c.fast {
			t.Errorf("%s: too fast after 5 s: %v", c.name, fast)
		}
		if fast := send(1000, c.every); fast != c.fast {
			t.Errorf("%s: too fast after 45 s: %v", c.name, fast)
		}
	}
}
