package live

import "time"

// A load is what sending costs a loop, by which it decides for how long frames
// are collected where that may adapt.
type load struct {
	cost time.Duration // of sending one batch to one viewer, about
}

const (
	// loadShare is one by the part of a processor that a loop may spend on
	// sending before it collects frames: 5 %.
	loadShare = 20
	// leastMerge is what collecting is worth at least: frames of one stream come
	// some 14 ms apart.
	leastMerge = 5 * time.Millisecond
)

// sent takes note that a batch was sent to so many viewers in a time.
func (l *load) sent(viewers int, took time.Duration) {
	if viewers == 0 {
		return
	}
	// A much longer time means that the goroutine was not running for part of it.
	took = min(took/time.Duration(viewers), time.Millisecond)
	l.cost += (took - l.cost) / 16
}

// merge returns for how long frames for so many viewers are collected, at most.
func (l *load) merge(viewers int, most time.Duration) time.Duration {
	t := time.Duration(viewers) * l.cost * loadShare
	if t < leastMerge {
		return 0
	}
	return min(t, most)
}
