package hls

import (
	"bytes"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
)

// A publisher may begin a segment with each picture, by another configuration, which is far larger than the segment:
// what they take together is bounded.
func TestSegmentsOfOnePictureEach(t *testing.T) {
	units, _ := clip(t)
	video, _ := configsOf(units)
	const most = 1 << 20
	x := newLine(t, video, nil, func(l *limits) { l.bytes = most })
	for _, u := range made(0, 20_000, 1000, 20, video, nil) {
		x.put(u)
	}
	for i := range uint32(100) {
		sets := slices.Clone(video.Sets)
		last := len(sets) - 1
		sets[last] = append(bytes.Clone(sets[last]), bytes.Repeat([]byte{1 + byte(i%2)}, 20_000)...)
		config, err := au.NewVideoConfig(video.Codec, sets)
		if err != nil {
			t.Fatal(err)
		}
		u := au.Unit{Video: true, Codec: video.Codec, Config: config, Time: 20_000 + i, Key: true, Parts: [][]byte{{0x65, 1}}}
		if !x.cutter.put(&u) {
			t.Fatal("no memory")
		}
		sum := 0
		for _, in := range x.inits {
			sum += len(in.bytes)
		}
		if sum > most {
			t.Fatalf("initializations have %d bytes", sum)
		}
	}
	if len(x.all) < 20 {
		t.Errorf("%d segments are held", len(x.all))
	}
}

// Or by another clock: players are three target durations behind, in which there may be any number of segments.
func TestSegmentsOfManyClocks(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	x := newLine(t, video, audio, nil)
	for _, u := range made(0, 20_000, 1000, 20, video, audio) {
		x.put(u)
	}
	for i := range uint32(2 * mostSegments) {
		for next := range uint32(2) {
			u := au.Unit{Video: true, Codec: video.Codec, Config: video, Time: 20_000 + i*(jump+10) + next, Key: next == 0, Parts: [][]byte{{0x65, 1}}}
			if !x.cutter.put(&u) {
				t.Fatal("no memory")
			}
		}
		if n := len(x.all) - x.listed; n > mostSegments+1 {
			t.Fatalf("%d segments are listed", n)
		}
	}
}
