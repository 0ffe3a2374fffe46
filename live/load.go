package live

import "time"

// A load is what sending costs a loop, by which it decides for how long frames
// are collected where that may adapt.
type load struct {
	cost   time.Duration // of sending one batch to one viewer, about
	frames float64       // frames that viewers are sent in a second
	count  int           // of these since from
	from   time.Time
}

const (
	// loadShare is one by the part of a processor that a loop may spend on sending
	// each frame by itself. 50 viewers of 30 pictures and 43 packets of sound a second
	// take 2 to 4 %.
	loadShare = 16
	// loadTime is how often frames are counted up.
	loadTime = 100 * time.Millisecond
)

// sent takes note that so many frames were sent in one batch to so many viewers.
func (l *load) sent(now time.Time, viewers, frames int, took time.Duration) {
	if d := now.Sub(l.from); d >= loadTime {
		l.frames += (float64(l.count)/d.Seconds() - l.frames) / 4
		l.count, l.from = 0, now
	}
	if viewers == 0 {
		return
	}
	l.count += viewers * frames
	// A longer time may mean that the goroutine was not running for part of it.
	took = min(took/time.Duration(viewers), time.Millisecond)
	if took < l.cost {
		l.cost += (took - l.cost) / 4
	} else {
		l.cost += (took - l.cost) / 32
	}
}

// merge returns for how long frames that come so far apart are collected, at most:
// not at all while each can be sent by itself. From there on it is four times as long for
// twice as much to send, so that a few hundred viewers cost no more than a hundred.
func (l *load) merge(apart, most time.Duration) time.Duration {
	busy := l.frames * l.cost.Seconds() * loadShare
	if busy <= 1 {
		return 0
	}
	return time.Duration(min(busy*busy*float64(apart), float64(most)))
}
