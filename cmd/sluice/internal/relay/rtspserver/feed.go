package rtspserver

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice/amf0"
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
		for t := range eachTag(tags) {
			u, ok, err := s.Split(t.typ, t.at, t.body)
			if err != nil || !ok || !wanted(tracks, u.Video) {
				continue // a broken frame is left out, as a decoder would
			}
			packets, err := f.pack(m, &u)
			if err == nil {
				err = p.Publish(live.Frame{Type: t.typ, Time: u.Time, Key: u.Video && u.Key, Payload: packets})
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

// A tag is one of those that a live.Reader returns.
type tag struct {
	typ  flv.TagType
	at   uint32
	body []byte
}

// eachTag yields the tags in p, which a live.Reader returned.
func eachTag(p []byte) iter.Seq[tag] {
	return func(yield func(tag) bool) {
		if len(p) >= 4 && string(p[:3]) == "FLV" {
			p = p[flv.HeaderLen+flv.PrevTagSizeLen:]
		}
		for len(p) >= flv.TagHeaderLen {
			n := int(binary.BigEndian.Uint32(p) & 0xffffff)
			at := binary.BigEndian.Uint32(p[4:])
			if !yield(tag{flv.TagType(p[0]), at>>8 | at<<24, p[flv.TagHeaderLen : flv.TagHeaderLen+n]}) {
				return
			}
			p = p[flv.TagHeaderLen+n+flv.PrevTagSizeLen:]
		}
	}
}

const (
	// probeTime is for how long a stream is read to find out what its tracks are.
	probeTime = 3 * time.Second
	// probeMore is how long a second track is waited for when one is known and the
	// metadata does not say that there is none.
	probeMore = 500 * time.Millisecond
)

// probe finds out the tracks of a stream, pictures first, and the bits of those that
// there are. missing are codecs that RTP has no form for. It waits for frames until ctx
// is done or for probeTime.
func probe(ctx context.Context, source *live.Stream) (formats []rtpmedia.Format, missing []flv.FourCC, err error) {
	r, err := source.NewReader(live.ReaderOptions{})
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	expected := expectedTracks(source)
	var s au.Splitter
	found := map[bool]*au.Config{}
	var none []flv.FourCC
	for {
		tags, _, err := r.Next(ctx)
		if err != nil {
			break // what is known by now counts
		}
		for t := range eachTag(tags) {
			u, ok, err := s.Split(t.typ, t.at, t.body)
			if err != nil || !ok {
				continue
			}
			c := u.Config
			if c == nil {
				c = &au.Config{Codec: u.Codec}
			}
			found[u.Video] = c
		}
		have := uint8(0)
		if found[true] != nil {
			have |= videoTrack
		}
		if found[false] != nil {
			have |= audioTrack
		}
		if have == videoTrack|audioTrack || expected != 0 && have&expected == expected {
			break
		}
		if have != 0 && expected == 0 {
			var stop context.CancelFunc
			ctx, stop = context.WithTimeout(ctx, probeMore)
			defer stop()
			expected = videoTrack | audioTrack
		}
	}
	for _, video := range []bool{true, false} {
		c := found[video]
		if c == nil {
			continue
		}
		f, err := rtpmedia.NewFormat(c)
		if err != nil {
			none = append(none, c.Codec)
			continue
		}
		formats = append(formats, f)
	}
	if len(formats) == 0 {
		err = errNoTracks
	}
	return formats, none, err
}

// expectedTracks are the tracks that the stream's metadata says, 0 when it says nothing.
func expectedTracks(source *live.Stream) uint8 {
	tracks := uint8(0)
	source.Headers(func(typ flv.TagType, body []byte) {
		if typ != flv.TagScript {
			return
		}
		_, values, err := flv.ParseScript(body)
		if err != nil || len(values) == 0 {
			return
		}
		var properties []amf0.Property
		switch v := values[0].(type) {
		case amf0.ECMAArray:
			properties = v
		case amf0.Object:
			properties = v
		}
		if slices.ContainsFunc(properties, func(p amf0.Property) bool { return p.Name == "videocodecid" }) {
			tracks |= videoTrack
		}
		if slices.ContainsFunc(properties, func(p amf0.Property) bool { return p.Name == "audiocodecid" }) {
			tracks |= audioTrack
		}
	})
	return tracks
}
