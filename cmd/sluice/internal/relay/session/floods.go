package session

import (
	"errors"
	"time"
)

const (
	// ViewerBytes and viewerRate bound what a viewer may send, in all as a burst and
	// per second: viewers send reports, pings, and a request now and then.
	ViewerBytes = 1 << 20
	viewerRate  = 16 << 10
)

// ErrFloods: the viewer sends more than a viewer has to say.
var ErrFloods = errors.New("the viewer sends more than a viewer has to say")

// Floods reports whether sent bytes are too many of a viewer that began then.
func Floods(sent int64, began time.Time) bool {
	return sent > ViewerBytes+int64(time.Since(began).Seconds()*viewerRate)
}
