package udpline

import (
	"sync/atomic"
	"time"
)

// A Reception is how one track comes to a viewer, by its reports. These are the peer's word: of what it
// was sent it cannot have lost more than all, nor less than nothing, as where packets came twice. Its
// methods are for use by many goroutines at once, but Begin comes before the others.
type Reception struct {
	clock  int
	sent   atomic.Int64 // packets
	heard  atomic.Bool  // of it by a report
	lost   atomic.Int64
	jitter atomic.Int64 // in ns
}

// Total is Report.Total of the 24 bits that it has in a report.
func Total(bits uint32) int32 { return int32(bits<<8) >> 8 }

// Begin says how many ticks a second the track's timestamps have.
func (r *Reception) Begin(clock int) { r.clock = clock }

// Send counts a packet that is sent for the first time.
func (r *Reception) Send() { r.sent.Add(1) }

// Hear takes a report.
func (r *Reception) Hear(report Report) {
	r.lost.Store(min(max(int64(report.Total), 0), r.sent.Load()))
	if clock := int64(r.clock); clock > 0 {
		ticks := int64(report.Jitter)
		r.jitter.Store(int64(time.Second)*(ticks/clock) + int64(time.Second)*(ticks%clock)/clock)
	}
	r.heard.Store(true)
}

// Received returns how many packets of all tracks have not come to a viewer, and the greatest jitter of
// one; false before there was a report.
func Received(tracks ...*Reception) (lost int64, jitter time.Duration, ok bool) {
	for _, r := range tracks {
		if r != nil && r.heard.Load() {
			lost, jitter, ok = lost+r.lost.Load(), max(jitter, time.Duration(r.jitter.Load())), true
		}
	}
	return lost, jitter, ok
}
