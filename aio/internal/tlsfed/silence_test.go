package tlsfed

import (
	"net/netip"
	"testing"
	"time"
)

// The handshake that has waited longest for its peer gives way, by how little or much that is
// longer: also where an int has 32 bits.
func TestLongestSilenceGivesWay(t *testing.T) {
	for _, more := range []time.Duration{time.Nanosecond, time.Second, 2500 * time.Millisecond, 5 * time.Second, time.Hour} {
		h := &Handshakes{Limit: 3, Silence: time.Second}
		h.waiting.add(new(Session), netip.Prefix{})
		now := time.Now()
		longest := new(Session)
		h.running = map[*Session]*progress{
			new(Session): {since: now.Add(-time.Minute)},
			longest:      {since: now.Add(-time.Minute - more)},
			new(Session): {since: now.Add(-time.Minute)},
		}
		list := h.silent()
		h.timer.Stop()
		if len(list) != 1 || list[0] != longest {
			t.Errorf("longer by %v: another one of %d gives way", more, len(list))
		}
	}
}
