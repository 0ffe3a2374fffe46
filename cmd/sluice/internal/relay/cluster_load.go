package relay

import (
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/streamdoctor"
)

// unlimited is the room of a node without limits, and the most that one says.
const unlimited = 1 << 20

// A load compares what a node does with the limits from which on it sends viewers to
// others.
type load struct {
	at   time.Time
	sent int64         // bytes
	used time.Duration // processor time
	full atomic.Bool   // by bandwidth or processor
}

// measure returns the part of the limits that is used, and how many more viewers like
// those there are have room. sent is what viewers were sent since the start. It has one
// caller.
func (l *load) measure(now time.Time, c *config.Config, viewers int, sent int64) (part float64, room int) {
	used, span := streamdoctor.ProcessTime(), now.Sub(l.at).Seconds()
	measured := !l.at.IsZero() && span > 0
	rate, processor := 0.0, 0.0
	if measured {
		rate = max(float64(sent-l.sent), 0) / span
		processor = 100 * (used - l.used).Seconds() / span / float64(runtime.NumCPU())
	}
	l.at, l.sent, l.used = now, sent, used
	part, room = 0, unlimited
	over := false
	for _, x := range []struct {
		is    float64
		most  int64
		count bool // viewers themselves
	}{{float64(viewers), int64(viewersPlaced(c)), true}, {rate, c.PlaceBandwidth, false}, {processor, int64(c.PlaceProcessor), false}} {
		if x.most <= 0 {
			continue
		}
		of := x.is / float64(x.most)
		part = max(part, of)
		over = over || !x.count && of >= 1
		each := 1.0
		if !x.count {
			each = max(x.is/float64(max(viewers, 1)), float64(x.most)/1000) // nothing is known of a node that is idle
		}
		room = min(room, int(math.Max(float64(x.most)-x.is, 0)/each))
	}
	l.full.Store(over)
	return part, room
}

// viewersPlaced is from how many viewers on new ones are sent to other nodes; 0 for any.
func viewersPlaced(c *config.Config) int {
	if c.PlaceViewers > 0 {
		return c.PlaceViewers
	}
	return c.MaxViewers
}
