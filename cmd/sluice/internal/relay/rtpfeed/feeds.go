package rtpfeed

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/contain"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/feed"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// Feeds are the streams of packets that are made at the moment.
type Feeds struct {
	*feed.Register[feedKey, *Feed]
	alloc *mem.Allocator
	log   *slog.Logger
}

// feedKey tells feeds apart: tracks has a bit for each track that it has packets of, and
// formats is what they are, which changes when another publisher comes.
type feedKey struct {
	source   *live.Stream
	protocol string
	tracks   uint8
	formats  string
	absent   Absent
}

// New makes Feeds. packets are the options of the streams of packets, of which the
// memory for all is bounded too. room returns an error when there is no memory for another feed.
func New(packets live.HubOptions, room func() error, alloc *mem.Allocator, log *slog.Logger) *Feeds {
	return &Feeds{Register: feed.New[feedKey, *Feed](packets, room), alloc: alloc, log: log}
}

// Open returns the feed of those of a stream's tracks that formats has. It is created
// for its first user, and ends with its last: the caller calls Release. An error is
// live.ErrClosed or that of room.
func (x *Feeds) Open(source *live.Stream, formats []rtpmedia.Format, o Options) (*Feed, error) {
	key := feedKey{source: source, protocol: o.Protocol, absent: o.Absent}
	for _, f := range formats {
		key.tracks |= trackBit(f.Video)
		key.formats += f.Codec.String()
		if !f.Video && f.Config != nil {
			key.formats += fmt.Sprintf(" %d %d ", f.Config.Rate, f.Config.Channels) // as Muxer compares them
		}
	}
	one, err := x.Register.Open(key, source, feed.Maker[feedKey, *Feed]{
		Protocol: o.Protocol,
		Begin: func(f *feed.Feed[feedKey, *Feed]) *Feed {
			return x.begin(f, source.Name(), key.tracks, formats, o)
		},
		Run: func(ctx context.Context, f *Feed, r *live.Reader, p *live.Publisher) error {
			err := contain.Run(x.log, func() error {
				return feed.Copy(ctx, r, p, f.pack, func(c flv.FourCC) {
					x.log.Warn("pictures before their sequence header are left out", "stream", source.Name(), "protocol", o.Protocol, "codec", c)
				})
			})
			if f.kept != nil {
				f.kept.close()
			}
			x.log.Debug("RTP packets are no longer made", "stream", source.Name(), "protocol", o.Protocol, "why", err)
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	return one.Value, nil
}

func (x *Feeds) begin(one *feed.Feed[feedKey, *Feed], source string, tracks uint8, formats []rtpmedia.Format, o Options) *Feed {
	muxer := rtpmedia.NewMuxer(formats)
	if o.Packet > 0 {
		muxer.Limit(o.Packet)
	}
	f := &Feed{Feed: one, alloc: x.alloc, tracks: tracks, options: o, muxer: muxer, bye: muxer.Bye()}
	f.order.late = func() {
		x.log.Warn("B-frames that other pictures refer to: players that show pictures as they come, as browsers do, show few of them; encode without B-frames", "stream", source, "protocol", o.Protocol)
	}
	if o.Kept > 0 {
		f.kept = newKept(o.Kept)
	}
	return f
}
