package srtserver

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/tsmedia"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// feeds are the transport streams that are made at the moment.
type feeds struct {
	hub   *live.Hub
	alloc *mem.Allocator
	log   *slog.Logger

	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	last   uint64
	list   map[*live.Stream]*feed
}

// A feed is one stream as a transport stream, made once for all its viewers.
type feed struct {
	feeds   *feeds
	source  *live.Stream
	stream  *live.Stream
	missing []fmt.Stringer // codecs that are left out
	users   int            // under the lock of feeds
	end     context.CancelFunc
}

// open returns the feed of a stream. It is created for its first user, and ends with its
// last: the caller calls release. missing are codecs that are left out.
func (x *feeds) open(ctx context.Context, source *live.Stream) (f *feed, missing []fmt.Stringer, err error) {
	if f := x.use(source); f != nil {
		return f, f.missing, nil
	}
	video, audio, err := au.Discover(ctx, source)
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
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, missing, live.ErrClosed
	}
	if f := x.list[source]; f != nil { // another was faster
		f.users++
		return f, missing, nil
	}
	r, err := source.NewReader(live.ReaderOptions{})
	if err != nil {
		return nil, missing, err
	}
	x.last++
	p, err := x.hub.Publish(fmt.Sprintf("%s#%d", source.Name(), x.last), live.PublishOptions{Name: "srt"})
	if err != nil {
		r.Close()
		return nil, missing, err
	}
	f = &feed{feeds: x, source: source, stream: p.Stream(), missing: missing, users: 1}
	var running context.Context
	running, f.end = context.WithCancel(context.Background())
	if x.list == nil {
		x.list = map[*live.Stream]*feed{}
	}
	x.list[source] = f
	x.running.Go(func() {
		err := x.run(running, r, p, muxer)
		r.Close()
		p.Close()
		x.forget(f)
		x.log.Debug("a transport stream is no longer made", "stream", source.Name(), "why", err)
	})
	return f, missing, nil
}

func (x *feeds) use(source *live.Stream) *feed {
	x.mu.Lock()
	defer x.mu.Unlock()
	f := x.list[source]
	if f != nil {
		f.users++
	}
	return f
}

// close ends all feeds and waits for them.
func (x *feeds) close() {
	x.mu.Lock()
	x.closed = true
	for _, f := range x.list {
		f.end()
	}
	x.mu.Unlock()
	x.hub.Close()
	x.running.Wait()
}

// release ends the use of a feed. It ends with its last user.
func (f *feed) release() {
	x := f.feeds
	x.mu.Lock()
	f.users--
	over := f.users == 0
	if over && x.list[f.source] == f {
		delete(x.list, f.source)
	}
	x.mu.Unlock()
	if over {
		f.end()
	}
}

// forget removes a feed that has ended, so that the next viewer gets a new one.
func (x *feeds) forget(f *feed) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.list[f.source] == f {
		delete(x.list, f.source)
	}
}

// run makes packets until ctx is done or the source is over.
func (x *feeds) run(ctx context.Context, r *live.Reader, p *live.Publisher, m *tsmedia.Muxer) error {
	var s au.Splitter
	for {
		tags, _, err := r.Next(ctx)
		if err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		for t := range au.Tags(tags) {
			u, ok, err := s.Split(t.Type, t.Time, t.Body)
			if err != nil || !ok {
				continue // a broken frame is left out, as a decoder would
			}
			packets, err := m.Append(&u)
			if err != nil {
				return err
			}
			if len(packets) == 0 {
				continue
			}
			b, err := x.alloc.TryGet(len(packets))
			if err != nil {
				return err
			}
			copy(b.Bytes(), packets)
			typ := flv.TagAudio
			if u.Video {
				typ = flv.TagVideo
			}
			if err := p.Publish(live.Frame{Type: typ, Time: u.Time, Key: u.Video && u.Key, Payload: b}); err != nil {
				return err
			}
		}
	}
}
