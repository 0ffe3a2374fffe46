package feed

import "time"

// pastTime is for how long a feed reads what was there when it began, at the most.
const pastTime = 2 * time.Second

// Past tells the units that a feed finds at its beginning, from before a track got the
// codec that it has now. The zero value is ready for use, by one goroutine.
type Past struct {
	began time.Time
	over  [2]bool // of sound, of pictures
}

// Has reports whether a unit of another codec than the track's is one of those.
func (p *Past) Has(video bool) bool {
	if p.began.IsZero() {
		p.began = time.Now()
	}
	return !p.over[kind(video)] && time.Since(p.began) < pastTime
}

// Over says that the track has had a unit of its codec.
func (p *Past) Over(video bool) { p.over[kind(video)] = true }

func kind(video bool) int {
	if video {
		return 1
	}
	return 0
}
