package config

import (
	"fmt"
	"math"
)

// Events configures what is reported to another server.
type Events struct {
	EventHook      string // URL
	EventSpool     string // directory
	EventSpoolSize int64  // bytes
	EventSecret    string // from the environment only
}

// minSecret is the shortest secret in bytes.
const minSecret = 16

func (g *Events) settings() []Setting {
	return []Setting{
		{Name: "event-hook", Usage: "`URL` to which events are reported: begin and end of sessions and recordings, stalls, evictions",
			value: text(&g.EventHook), fits: webURL(&g.EventHook, "http", "https")},
		{Name: "event-spool", Usage: "keep events in this `directory` until they are delivered; without it those that wait end with the server",
			value: text(&g.EventSpool)},
		{Name: "event-spool-size", Default: "64MiB", Usage: "at most this `size` of events that wait",
			value: size(&g.EventSpoolSize), fits: sizeBetween(&g.EventSpoolSize, 1<<20, math.MaxInt64)},
		{Name: "event-secret", Secret: true, Usage: "signs the deliveries of events",
			value: text(&g.EventSecret), fits: secret(&g.EventSecret)},
	}
}

func secret(v *string) func() error {
	return func() error {
		if n := len(*v); n > 0 && n < minSecret {
			return fmt.Errorf("it has %d bytes, at least %d are needed", n, minSecret)
		}
		return nil
	}
}
