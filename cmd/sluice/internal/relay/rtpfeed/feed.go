package rtpfeed

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/feed"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/mem"
)

// ErrNoTracks: the stream has nothing that the protocol can carry.
var ErrNoTracks = errors.New("the stream has no track that this protocol can carry")

// Options say how the packets of a feed are made. They are the same for all viewers of
// a protocol.
type Options struct {
	Protocol string // in logs; feeds of different protocols are different ones
	Packet   int    // bytes of the longest packet of RTP; 0 is as of rtpmedia
	Kept     int    // how many packets of pictures are kept to be sent again
	// InOrder leaves out pictures that are shown before one that was sent already, where
	// nothing refers to them: for players that show pictures as they come.
	InOrder bool
	// Absent are the kinds that the viewers' descriptions lack since the stream had none. With the first unit
	// of one that Carries takes the feed ends: players cannot be given another description.
	Absent  Absent
	Carries func(*au.Config) (rtpmedia.Format, error)
}

// A Feed is one stream as packets.
type Feed struct {
	*feed.Feed[feedKey, *Feed]
	alloc   *mem.Allocator
	tracks  uint8
	options Options
	muxer   *rtpmedia.Muxer
	bye     []byte
	kept    *Kept
	order   order
	newest  [2]atomic.Uint32 // timestamps: of sound, of pictures
}

// Bye returns the packets that end the tracks.
func (f *Feed) Bye() []byte { return f.bye }

// Kept returns the packets of pictures that can be sent again; nil when none are kept.
func (f *Feed) Kept() *Kept { return f.kept }

// Newest returns the timestamp of the newest packet of a kind.
func (f *Feed) Newest(video bool) uint32 { return f.newest[index(video)].Load() }

// LeftOut returns how many pictures were left out to keep their order.
func (f *Feed) LeftOut() int64 { return f.order.leftOut.Load() }

func index(video bool) int {
	if video {
		return 1
	}
	return 0
}

// pack returns the packets of a unit in pooled memory, none of one that is left out.
func (f *Feed) pack(u *au.Unit) (mem.Buf, error) {
	if f.begins(u) {
		return mem.Buf{}, fmt.Errorf("%w: %v", au.ErrBegun, u.Config)
	}
	if f.tracks&trackBit(u.Video) == 0 || f.options.InOrder && !f.order.admits(u) {
		return mem.Buf{}, nil
	}
	b, err := f.alloc.TryGet(f.muxer.Bound(u))
	if err != nil {
		return mem.Buf{}, err
	}
	defer b.Release()
	out, err := f.muxer.Append(b.Bytes()[:0], u, time.Now())
	if err != nil {
		return mem.Buf{}, err
	}
	packets := b.RetainedSlice(0, len(out))
	if f.kept != nil && u.Video {
		f.kept.add(packets.Retain())
	}
	f.newest[index(u.Video)].Store(f.muxer.Latest(u.Video))
	return packets, nil
}

// begins reports whether a unit is of a track that viewers would have if they came now.
func (f *Feed) begins(u *au.Unit) bool {
	absent := f.options.Absent.Audio
	if u.Video {
		absent = f.options.Absent.Video && u.Key
	}
	if !absent || u.Config == nil {
		return false
	}
	_, err := f.options.Carries(u.Config)
	return err == nil
}

// Tracks of a feed.
const (
	videoTrack uint8 = 1 << iota
	audioTrack
)

func trackBit(video bool) uint8 {
	if video {
		return videoTrack
	}
	return audioTrack
}
