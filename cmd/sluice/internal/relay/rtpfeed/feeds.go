package rtpfeed

import (
	"context"
	"log/slog"
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// Feeds are the streams of packets that are made at the moment.
type Feeds struct {
	hub   *live.Hub
	alloc *mem.Allocator
	log   *slog.Logger

	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	last   uint64
	list   map[feedKey]*Feed
}

// feedKey tells feeds apart: tracks has a bit for each track that it has packets of.
type feedKey struct {
	source   *live.Stream
	protocol string
	tracks   uint8
}

// New makes Feeds. packets are the options of the streams of packets, of which the
// memory for all is bounded too.
func New(packets live.HubOptions, alloc *mem.Allocator, log *slog.Logger) *Feeds {
	packets.Stream.Packets = true
	packets.Stream.MaxFrame = 1<<24 - 1 // a frame of media and the headers of its packets
	packets.Stream.Grace = 0
	return &Feeds{hub: live.NewHub(packets), alloc: alloc, log: log}
}

// Hub returns the streams of packets.
func (x *Feeds) Hub() *live.Hub { return x.hub }

// Open returns the feed of those of a stream's tracks that formats has. It is created
// for its first user, and ends with its last: the caller calls Release. An error is
// live.ErrClosed.
func (x *Feeds) Open(source *live.Stream, formats []rtpmedia.Format, o Options) (*Feed, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, live.ErrClosed
	}
	key := feedKey{source: source, protocol: o.Protocol}
	for _, f := range formats {
		key.tracks |= trackBit(f.Video)
	}
	if f := x.list[key]; f != nil {
		f.users++
		return f, nil
	}
	r, err := source.NewReader(live.ReaderOptions{})
	if err != nil {
		return nil, err
	}
	x.last++
	p, err := x.hub.Publish(name(source, x.last), live.PublishOptions{Name: o.Protocol})
	if err != nil {
		r.Close()
		return nil, err
	}
	muxer := rtpmedia.NewMuxer(formats)
	if o.Packet > 0 {
		muxer.Limit(o.Packet)
	}
	f := &Feed{feeds: x, key: key, options: o, stream: p.Stream(), muxer: muxer, bye: muxer.Bye(), users: 1}
	f.order.late = func() {
		x.log.Warn("B-frames that other pictures refer to: players that show pictures as they come, as browsers do, show few of them; encode without B-frames", "stream", source.Name(), "protocol", o.Protocol)
	}
	if o.Kept > 0 {
		f.kept = newKept(o.Kept)
	}
	var ctx context.Context
	ctx, f.end = context.WithCancel(context.Background())
	if x.list == nil {
		x.list = map[feedKey]*Feed{}
	}
	x.list[key] = f
	x.running.Go(func() {
		err := f.run(ctx, r, p)
		r.Close()
		p.Close()
		x.forget(f)
		if f.kept != nil {
			f.kept.close()
		}
		x.log.Debug("RTP packets are no longer made", "stream", source.Name(), "protocol", o.Protocol, "why", err)
	})
	return f, nil
}

// Close ends all feeds and waits for them.
func (x *Feeds) Close() {
	x.mu.Lock()
	x.closed = true
	for _, f := range x.list {
		f.end()
	}
	x.mu.Unlock()
	x.hub.Close()
	x.running.Wait()
}

// Release ends the use of a feed. It ends with its last user.
func (f *Feed) Release() {
	x := f.feeds
	x.mu.Lock()
	f.users--
	over := f.users == 0
	if over && x.list[f.key] == f {
		delete(x.list, f.key)
	}
	x.mu.Unlock()
	if over {
		f.end()
	}
}

// forget removes a feed that has ended, so that the next viewer gets a new one.
func (x *Feeds) forget(f *Feed) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.list[f.key] == f {
		delete(x.list, f.key)
	}
}
