package rewind

import (
	"slices"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
)

// One track may come behind the other all the time, as sound does from many cameras: what follows a
// fragment begins before that ends. Its frames have the times of the stream all the same.
func TestTrackThatComesBehind(t *testing.T) {
	const by = 150
	for name, late := range map[string]flv.TagType{"sound": flv.TagAudio, "pictures": flv.TagVideo} {
		t.Run(name, func(t *testing.T) {
			var tags []au.Tag
			for tag := range au.Tags(flvclip.File[flv.HeaderLen+flv.PrevTagSizeLen:]) {
				tags = append(tags, tag)
			}
			comes := func(tag au.Tag) int {
				if tag.Type == late && tag.Time > 0 {
					return int(tag.Time) + by
				}
				return int(tag.Time)
			}
			slices.SortStableFunc(tags, func(a, b au.Tag) int { return comes(a) - comes(b) })
			var p []byte
			for _, tag := range tags {
				p = flv.TagHeader{Type: tag.Type, Size: len(tag.Body), Time: tag.Time}.Append(p)
				n := flv.TagHeaderLen + len(tag.Body)
				p = append(append(p, tag.Body...), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
			}
			want := map[frame]uint32{}
			list, times := media(t, p)
			for i, f := range list {
				want[f] = times[i]
			}

			r := newRecorded(t)
			r.write(t, p)
			one := r.reader(t, began)
			var read []byte
			for {
				tags, _, err := one.Next()
				if read = append(read, tags...); err != nil {
					break
				}
			}
			got, gotTimes := media(t, read)
			if len(got) < len(list)-2*by/20 || got[0].kind != flv.TagVideo || gotTimes[0] != 0 {
				t.Fatalf("%d frames of %d, the first at %d", len(got), len(list), gotTimes[0])
			}
			zero, wrong := want[got[0]], 0
			for i, f := range got {
				if d := int32(gotTimes[i] + zero - want[f]); d < -1 || d > 1 {
					wrong++
					if wrong < 5 {
						t.Errorf("frame %d of kind %d: at %d, which is %d ms later than in the stream", i, f.kind, gotTimes[i], d)
					}
				}
			}
			if wrong > 0 {
				t.Errorf("%d of %d frames", wrong, len(got))
			}
		})
	}
}
