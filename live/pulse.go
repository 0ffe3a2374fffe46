package live

import "time"

// A pulse is what a loop saw of a viewer's socket: its latest progress, and how it is
// tried again.
type pulse struct {
	acked int64     // bytes that the peer has acknowledged
	at    time.Time // when there were fewer for the last time, or none to acknowledge
	retry time.Duration
}
