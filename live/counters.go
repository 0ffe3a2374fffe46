package live

import (
	"sync/atomic"
	"time"
)

// counters of what a publisher sent, under the stream's lock.
type counters struct {
	frames, bytes int64
	gopFrames     int // of video since the newest key frame
	gopBytes      int
	gopFrom       uint32
	gopWhole      bool            // that has come; a publisher may begin before one
	gop           groupOfPictures // the latest that is complete
}

type groupOfPictures struct {
	frames, bytes int
	length        time.Duration
}

func (c *counters) count(k kind, at uint32, n int) {
	c.frames++
	c.bytes += int64(n)
	if k&isKey != 0 {
		if c.gopWhole && c.gopFrames > 0 {
			c.gop = groupOfPictures{c.gopFrames, c.gopBytes, time.Duration(int32(at-c.gopFrom)) * time.Millisecond}
		}
		c.gopFrames, c.gopBytes, c.gopFrom, c.gopWhole = 0, 0, at, true
	}
	if k.picture() && k&isSide == 0 {
		c.gopFrames++
		c.gopBytes += n
	}
}

// totals of what viewers were sent.
type totals struct {
	viewers, frames, bytes, dropped, jumps, evicted atomic.Int64
}
