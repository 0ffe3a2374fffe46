package hls

import (
	"math"
	"slices"
	"testing"

	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4"
)

// Pictures that FLV has shown before they are decoded are beside the sound where they were: of a
// negative offset in a fragment ffmpeg makes a delay of all pictures.
func TestPicturesThatAreShownBeforeTheyAreDecoded(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	for name, shown := range map[string][]int32{"one late": {0, 80, -40, -40}, "all": {-120, 0, -80, -80}} {
		for _, from := range []uint32{0, 1000, 1<<32 - 2000} {
			t.Run(name, func(t *testing.T) {
				x := newLine(t, video, audio, nil)
				var pictures []float64
				all := made(from, 4000, 40, 25, video, audio)
				for i, n := 0, 0; i < len(all); i++ {
					u := &all[i]
					if !u.Video {
						continue
					}
					u.Offset = shown[n%len(shown)]
					n++
					pictures = append(pictures, max(float64(int64(from)+int64(u.Time-from)+int64(u.Offset)), 0))
				}
				for _, u := range all {
					x.put(u)
				}
				if !x.cutter.finish() {
					t.Fatal("no memory")
				}
				x.look()
				var got []float64
				at, sound := int64(-1), -1.0
				for _, s := range x.all {
					for _, p := range s.parts {
						var parts fmp4.Parts
						if err := parts.Unmarshal(p.buf.Bytes()); err != nil {
							t.Fatal(err)
						}
						for _, track := range parts[0].Tracks {
							now := int64(track.BaseTime)
							if track.ID != 1 {
								if sound < 0 {
									sound = float64(now) / 44.1
								}
								continue
							}
							for _, one := range track.Samples {
								if one.PTSOffset < 0 || now < at {
									t.Fatalf("picture %d: decoded at %d, shown %d after", len(got), now, one.PTSOffset)
								}
								at = now
								got = append(got, float64(now+int64(one.PTSOffset))*1000/videoScale)
								now += int64(one.Duration)
							}
						}
					}
				}
				if math.Abs(sound-float64(from)) > 24 {
					t.Errorf("sound begins at %v", sound)
				}
				if !slices.EqualFunc(got, pictures, func(a, b float64) bool { return math.Abs(a-b) < 1 }) {
					t.Errorf("pictures are shown at %v, want %v", got, pictures)
				}
			})
		}
	}
}
