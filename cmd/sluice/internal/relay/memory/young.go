package memory

import (
	"slices"
	"sync/atomic"
	"time"
)

// young counts the rings that have begun lately, and are not full yet: what is in use says
// little of what a crowd of publishers will take that has just come.
type young struct {
	counts [youngFor / every]int // of rings, at the latest steps
	next   int
	before atomic.Int64 // the least of them
}

const (
	// youngFor is how long a ring is young: most groups of pictures are shorter.
	youngFor = 10 * time.Second
	// perRing is what a young ring is taken to need, in bytes: what every ring may keep in
	// any case, see live.HubOptions.
	perRing = 256 << 10
)

// begin takes the rings that there are as full: another process has handed them over.
func (y *young) begin(rings int) {
	for range y.counts {
		y.note(rings)
	}
}

// note takes note that there are so many rings at this step.
func (y *young) note(rings int) {
	y.counts[y.next] = rings
	y.next = (y.next + 1) % len(y.counts)
	y.before.Store(int64(slices.Min(y.counts[:])))
}

// reserved is what is kept free for those of so many rings that are young, and one more. It may
// be called while note is.
func (y *young) reserved(rings int) int64 {
	return (max(int64(rings)-y.before.Load(), 0) + 1) * perRing
}
