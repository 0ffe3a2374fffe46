package hls

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
)

// A phase is a time in which a publisher sends one kind of stream.
type phase struct {
	step            int64 // of the clock before it, ms
	length          uint32
	interval, group uint32
	lead            uint32 // of sound before pictures
	video, audio    *au.Config
}

func (p phase) String() string {
	return fmt.Sprintf("%+d ms, then %d ms: a picture each %d ms (%t), groups of %d, sound (%t) %d ms ahead",
		p.step, p.length, p.interval, p.video != nil, p.group, p.audio != nil, p.lead)
}

// Publishers that follow each other, with other codecs, other clocks and other tracks: each playlist is
// valid, and may be what the one before it has become.
func TestRandomPublishers(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	other := *video
	other.Record = bytes.Clone(video.Record)
	other.Record[3]++ // the level
	mono, err := au.NewAACConfig([]byte{0x12, 0x08})
	if err != nil {
		t.Fatal(err)
	}
	tracks := [][2]*au.Config{{&other, audio}, {video, mono}, {video, audio}, {&other, mono}, {nil, audio}, {video, nil}}
	steps := []int64{0, 0, 40, 3_000, 11_000, 3_600_000, -900, -1_100, -30_000, 1 << 31}
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			x := newLine(t, video, audio, func(l *limits) { l.low = seed%2 == 0 })
			var history []string
			defer func() {
				if t.Failed() {
					t.Log(strings.Join(history, "\n"))
				}
			}()
			at := random.Uint32()
			if seed%3 == 0 {
				at = ^uint32(5_000) // it wraps soon
			}
			for range 15 {
				one := tracks[random.IntN(len(tracks))]
				p := phase{
					step: steps[random.IntN(len(steps))], length: uint32(500 + random.IntN(8_000)),
					interval: []uint32{17, 33, 40, 100, 1_000}[random.IntN(5)], group: uint32(1 + random.IntN(60)),
					lead: uint32(random.IntN(2) * random.IntN(3_000)), video: one[0], audio: one[1],
				}
				history = append(history, p.String())
				if p.video == nil {
					p.interval = 0
				}
				at += uint32(p.step)
				for _, u := range made(at, p.length, p.interval, p.group, p.video, p.audio) {
					if !u.Video {
						u.Time += p.lead
					}
					x.put(u)
				}
				at += p.length
			}
		})
	}
}

// Sound whose clock is ahead of that of the pictures is no pause of the pictures: segments begin
// with key frames, as players of browsers need them.
func TestSoundAheadOfPictures(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	for _, lead := range []uint32{500, 1_200, 1_900, 3_000, 9_000} {
		t.Run(fmt.Sprint(lead), func(t *testing.T) {
			x := newLine(t, video, audio, nil)
			for _, u := range made(10_000, 20_000, 40, 50, video, audio) {
				if !u.Video {
					u.Time += lead
				}
				x.put(u)
			}
			for i, s := range x.latest.Segments {
				if len(s.Parts) > 0 && (!s.Parts[0].Independent || s.URI != "" && s.Duration != 2) {
					t.Errorf("segment %d of %.3f s begins with %+v", x.latest.Sequence+i, s.Duration, s.Parts[0])
				}
			}
		})
	}
}

// The longest duration of parts never changes, whatever pictures come later.
func TestSlowPicturesThatComeLater(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	x := newLine(t, nil, audio, nil)
	for _, u := range made(0, 20_000, 900, 3, video, audio) {
		if !u.Video || u.Time > 5_000 {
			x.put(u)
		}
	}
}
