package tsmedia

import "github.com/bluenviron/mediacommon/v2/pkg/formats/mpegts"

const (
	// lead is the time of the first unit: the other track may begin a little earlier.
	lead = 500 * 90
	// jump is by how much a track's times go back when the sender's clock was set back,
	// such as by a file that is played again.
	jump = 10 * 90_000
)

// A clock converts the times of a transport stream, 33 bits of ticks that wrap, into those
// of the stream, which begin at lead. Where the sender's clock is set back they go on.
type clock struct {
	times  mpegts.TimeDecoder
	tracks [2]struct {
		known        bool
		latest, base int64
	}
	newest int64 // time of the stream
}

// at returns the time of a unit of a track, 0 for pictures and 1 for sound.
func (c *clock) at(track int, ticks int64) int64 {
	t := c.times.Decode(ticks)
	one, other := &c.tracks[track], &c.tracks[1-track]
	// The tracks have one clock: the other one's times say what it is now.
	together := other.known && t > other.latest-jump && t < other.latest+jump
	switch {
	case one.known && t >= one.latest-jump:
	case other.known && (together || !one.known):
		one.base = other.base
	default:
		one.base = t - max(c.newest, lead)
	}
	one.known, one.latest = true, t
	at := max(t-one.base, 0)
	c.newest = max(c.newest, at)
	return at
}

// difference is a-b of times that wrap.
func difference(a, b int64) int64 {
	const bits = 33
	return (a - b) << (64 - bits) >> (64 - bits)
}

// ms rounds ticks.
func ms(ticks int64) uint32 { return uint32((ticks + 45) / 90) }
