package rtspserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// errNoTracks: the stream has nothing that RTP can carry.
var errNoTracks = errors.New("the stream has no track that RTSP can carry")

// feeds are the streams of packets that are made at the moment.
type feeds struct {
	hub   *live.Hub
	alloc *mem.Allocator
	log   *slog.Logger

	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	last   uint64
	list   map[feedKey]*feed
}

// feedKey tells feeds apart: tracks has a bit for each track that it has packets of.
type feedKey struct {
	source *live.Stream
	tracks uint8
}

// A feed is one stream as packets.
type feed struct {
	feeds  *feeds
	key    feedKey
	stream *live.Stream
	bye    []byte
	users  int // under the lock of feeds
	end    context.CancelFunc
}

// open returns the feed of some of a stream's tracks. It is created for its first user,
// and ends with its last: the caller calls release.
func (x *feeds) open(source *live.Stream, formats []rtpmedia.Format, tracks uint8) (*feed, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, live.ErrClosed
	}
	key := feedKey{source, tracks}
	if f := x.list[key]; f != nil {
		f.users++
		return f, nil
	}
	r, err := source.NewReader(live.ReaderOptions{})
	if err != nil {
		return nil, err
	}
	x.last++
	p, err := x.hub.Publish(fmt.Sprintf("%s#%d", source.Name(), x.last), live.PublishOptions{Name: "rtsp"})
	if err != nil {
		r.Close()
		return nil, err
	}
	muxer := rtpmedia.NewMuxer(formats)
	f := &feed{feeds: x, key: key, stream: p.Stream(), bye: muxer.Bye(), users: 1}
	var ctx context.Context
	ctx, f.end = context.WithCancel(context.Background())
	if x.list == nil {
		x.list = map[feedKey]*feed{}
	}
	x.list[key] = f
	x.running.Go(func() {
		err := f.run(ctx, r, p, muxer, tracks)
		r.Close()
		p.Close()
		x.forget(f)
		x.log.Debug("RTSP packets are no longer made", "stream", source.Name(), "why", err)
	})
	return f, nil
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
	if over && x.list[f.key] == f {
		delete(x.list, f.key)
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
	if x.list[f.key] == f {
		delete(x.list, f.key)
	}
}

// run makes packets until ctx is done or the source is over.
func (f *feed) run(ctx context.Context, r *live.Reader, p *live.Publisher, m *rtpmedia.Muxer, tracks uint8) error {
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
			if err != nil || !ok || !wanted(tracks, u.Video) {
				continue // a broken frame is left out, as a decoder would
			}
			packets, err := f.pack(m, &u)
			if err == nil {
				err = p.Publish(live.Frame{Type: t.Type, Time: u.Time, Key: u.Video && u.Key, Payload: packets})
			}
			if err != nil {
				return err
			}
		}
	}
}

// pack returns the packets of a unit in pooled memory.
func (f *feed) pack(m *rtpmedia.Muxer, u *au.Unit) (mem.Buf, error) {
	b, err := f.feeds.alloc.TryGet(m.Bound(u))
	if err != nil {
		return mem.Buf{}, err
	}
	defer b.Release()
	out, err := m.Append(b.Bytes()[:0], u, time.Now())
	if err != nil {
		return mem.Buf{}, err
	}
	return b.RetainedSlice(0, len(out)), nil
}

// Tracks of a feed.
const (
	videoTrack uint8 = 1 << iota
	audioTrack
)

func wanted(tracks uint8, video bool) bool {
	if video {
		return tracks&videoTrack != 0
	}
	return tracks&audioTrack != 0
}

// probe finds out the tracks of a stream, pictures first. missing are codecs that RTP has
// no form for.
func probe(ctx context.Context, source *live.Stream) (formats []rtpmedia.Format, missing []flv.FourCC, err error) {
	video, audio, err := au.Discover(ctx, source)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range []*au.Config{video, audio} {
		if c == nil {
			continue
		}
		f, err := rtpmedia.NewFormat(c)
		if err != nil {
			missing = append(missing, c.Codec)
			continue
		}
		formats = append(formats, f)
	}
	if len(formats) == 0 {
		err = errNoTracks
	}
	return formats, missing, err
}
