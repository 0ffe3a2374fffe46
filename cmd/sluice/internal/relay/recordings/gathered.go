package recordings

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/live"
)

const (
	// gather is how long frames are collected for one write: a wake-up and a write for
	// each frame would cost more than all else of a recording. What a killed server
	// loses is longer by that.
	gather = 100 * time.Millisecond
	// gatherBytes is how much is written at once as it comes, from a publisher that is
	// faster than real time.
	gatherBytes = 64 << 10
)

// gathered reads tags some at a time.
type gathered struct {
	*live.Reader
	over <-chan struct{} // closed when nothing more comes
	some bool            // the latest read gave little
}

// Next implements record.Source.
func (g *gathered) Next(ctx context.Context) (tags []byte, dropped int, err error) {
	if g.some {
		timer := time.NewTimer(gather)
		select {
		case <-timer.C:
		case <-g.over:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	tags, dropped, err = g.Reader.Next(ctx)
	g.some = len(tags) < gatherBytes
	return tags, dropped, err
}
