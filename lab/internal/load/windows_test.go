package load

import (
	"testing"
	"time"
)

// filled is windows of 100 ms in each of which a request took so long; 0 is none.
func filled(p99 ...time.Duration) *windows {
	w := newWindows(100*time.Millisecond, jitterDigits, time.Second)
	for i, d := range p99 {
		if d > 0 {
			w.record(time.Duration(i)*w.every, int64(d))
		}
	}
	return &w
}

func TestJitterIsTheStandardDeviationOfTheP99(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name     string
		w        *windows
		measured time.Duration
		want     time.Duration
	}{
		{"a steady target", filled(4*ms, 4*ms, 4*ms), 300 * ms, 0},
		{"fast and slow in turn", filled(8*ms, 16*ms, 8*ms, 16*ms), 400 * ms, 4619 * time.Microsecond},
		{"moments without a request do not count", filled(8*ms, 0, 16*ms, 0, 0, 8*ms, 16*ms), 700 * ms, 4619 * time.Microsecond},
		{"one moment has none", filled(8 * ms), 100 * ms, 0},
		{"part of a window does not count", filled(8*ms, 8*ms, 64*ms), 250 * ms, 0},
		{"nothing was sent", filled(), time.Second, 0},
	} {
		got := c.w.spread(c.measured)
		// One digit is a sixteenth.
		if slack := c.want/8 + time.Nanosecond; got < c.want-slack || got > c.want+slack {
			t.Errorf("%s: the jitter is %v, want %v", c.name, got, c.want)
		}
	}
}

func TestJitterIsThatOfAllThreads(t *testing.T) {
	const ms = time.Millisecond
	one, other := filled(8*ms, 0, 8*ms), filled(0, 16*ms, 0, 16*ms)
	one.merge(other)
	if got, want := one.spread(400*ms), filled(8*ms, 16*ms, 8*ms, 16*ms).spread(400*ms); got != want {
		t.Errorf("the jitter of two threads is %v, of one with both %v", got, want)
	}
}

func TestJitterWindowsAreBounded(t *testing.T) {
	for _, d := range []time.Duration{time.Millisecond, 10 * time.Second, time.Hour, 24 * time.Hour} {
		p := Default()
		p.Duration = d
		if n := d / JitterEvery(&p); n > mostJitter || JitterEvery(&p) < jitterTime {
			t.Errorf("in %v there are %d windows of %v", d, n, JitterEvery(&p))
		}
	}
}
