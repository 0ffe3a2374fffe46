package srtserver

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/contain"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/feed"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/tsmedia"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// feeds are the transport streams that are made at the moment.
type feeds struct {
	*feed.Register[*live.Stream, *transport]
	alloc *mem.Allocator
	log   *slog.Logger
}

// A transport is one stream as a transport stream, made once for all its viewers.
type transport struct {
	*feed.Feed[*live.Stream, *transport]
	missing []fmt.Stringer // codecs that are left out
}

func newFeeds(packets live.HubOptions, room func() error, alloc *mem.Allocator, log *slog.Logger) feeds {
	return feeds{feed.New[*live.Stream, *transport](packets, room), alloc, log}
}

// open returns the feed of a stream. It is created for its first user, and ends with its
// last: the caller calls Release. missing are codecs that are left out.
func (x *feeds) open(ctx context.Context, source *live.Stream, wait time.Duration) (f *transport, missing []fmt.Stringer, err error) {
	if one := x.Use(source); one != nil {
		return one.Value, one.Value.missing, nil
	}
	video, audio, err := au.Discover(ctx, source, wait, nil)
	if err != nil {
		return nil, nil, err
	}
	muxer, left, err := tsmedia.New(video, audio)
	for _, c := range left {
		missing = append(missing, c)
	}
	if err != nil {
		return nil, missing, err
	}
	muxer.LeftOut = func(c flv.FourCC) {
		x.log.Info("a codec without a form in SRT's transport stream is left out", "stream", source.Name(), "codec", c)
	}
	one, err := x.Register.Open(source, source, feed.Maker[*live.Stream, *transport]{
		Protocol: "srt",
		Begin:    func(f *feed.Feed[*live.Stream, *transport]) *transport { return &transport{f, missing} },
		Run: func(ctx context.Context, _ *transport, r *live.Reader, p *live.Publisher) error {
			err := contain.Run(x.log, func() error {
				return feed.Copy(ctx, r, p, func(u *au.Unit) (mem.Buf, error) { return x.pack(muxer, u) }, func(c flv.FourCC) {
					x.log.Warn("pictures before their sequence header are left out", "stream", source.Name(), "protocol", "srt", "codec", c)
				})
			})
			x.log.Debug("a transport stream is no longer made", "stream", source.Name(), "why", err)
			return err
		},
	})
	if err != nil {
		return nil, missing, err
	}
	return one.Value, missing, nil
}

// pack returns the packets of a unit in pooled memory.
func (x *feeds) pack(m *tsmedia.Muxer, u *au.Unit) (mem.Buf, error) {
	packets, err := m.Append(u)
	if err != nil || len(packets) == 0 {
		return mem.Buf{}, err
	}
	b, err := x.alloc.TryGet(len(packets))
	if err != nil {
		return mem.Buf{}, err
	}
	copy(b.Bytes(), packets)
	return b, nil
}
