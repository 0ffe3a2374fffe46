package feed

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// Copy publishes to to what pack makes of each access unit of from, until ctx is done or
// from is over: then it returns nil. A unit is borrowed by pack, the packets that it
// returns are transferred, and are empty for a unit that is left out.
//
// A unit for which there is no memory, or that is longer than a stream takes, is left out,
// and pictures up to the next key frame with it; so are they behind a header that says
// something else, and those before the first header, for which bare is called once. au.ErrChanged of pack ends the copy, but
// for units from before the tracks got what they are now: some may be there at the
// beginning.
func Copy(ctx context.Context, from *live.Reader, to *live.Publisher, pack func(*au.Unit) (mem.Buf, error), bare func(flv.FourCC)) error {
	var s au.Splitter
	var old past
	var config *au.Config // of pictures
	broken := false       // pictures are left out
	warned := false
	for {
		tags, _, err := from.Next(ctx)
		if err == io.EOF || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for u := range s.Units(tags) {
			if u.Bare() {
				if !warned {
					warned = true
					bare(u.Codec)
				}
				broken = true
				continue
			}
			if u.Video {
				changed := config != nil && !config.Equal(u.Config)
				config = u.Config
				broken = (broken || changed) && !u.Key
			}
			if u.Video && broken {
				continue
			}
			packets, err := pack(&u)
			if errors.Is(err, au.ErrChanged) && !errors.Is(err, au.ErrBegun) && old.has(u.Video) {
				continue
			}
			if err == nil {
				old.end(u.Video)
				if packets.Valid() {
					err = to.Publish(live.Frame{Type: u.Tag(), Time: u.Time, Key: u.Video && u.Key, Payload: packets})
				}
			}
			if errors.Is(err, mem.ErrBudget) || errors.Is(err, live.ErrFrame) {
				broken = broken || u.Video
				continue
			}
			if err != nil {
				return err
			}
		}
	}
}

// pastTime is for how long a feed reads what was there when it began, at the most.
const pastTime = 2 * time.Second

// past tells the units that a feed finds at its beginning, from before a track got what
// it is now.
type past struct {
	began time.Time
	over  [2]bool // of sound, of pictures
}

// has reports whether a unit that is not what its track is now is one of those.
func (p *past) has(video bool) bool {
	if p.began.IsZero() {
		p.began = time.Now()
	}
	return !p.over[kind(video)] && time.Since(p.began) < pastTime
}

// end says that the track has had a unit of what it is now.
func (p *past) end(video bool) { p.over[kind(video)] = true }

func kind(video bool) int {
	if video {
		return 1
	}
	return 0
}
