package relay

import (
	"errors"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
)

func testClip(t testing.TB) *Clip {
	t.Helper()
	c, err := ParseClip(flvclip.File)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAClipHasItsFramesAndWhatStandsBeforeThem(t *testing.T) {
	c := testClip(t)
	if len(c.Media) != 732 {
		t.Errorf("%d packets", len(c.Media))
	}
	var kinds []flv.TagType
	for _, h := range c.Head {
		kinds = append(kinds, h.Kind)
	}
	slices.Sort(kinds)
	if !slices.Equal(kinds, []flv.TagType{flv.TagAudio, flv.TagVideo, flv.TagScript}) {
		t.Errorf("before the media stand %v", kinds)
	}
	if c.Length < 10_000 || c.Length > 10_100 {
		t.Errorf("%d ms", c.Length)
	}
}

func TestAClipGoesOnFromItsEnd(t *testing.T) {
	s := show{clip: testClip(t)}
	last := [2]int64{-1, -1}
	for n := range 3*len(s.clip.Media) + 5 {
		tag, at := s.publish(0)
		which := trackOf(tag.Kind)
		if int64(at) <= last[which] || int64(at)-last[which] > 150 {
			t.Fatalf("frame %d of kind %d is at %d ms, the one before at %d", n, tag.Kind, at, last[which])
		}
		last[which] = int64(at)
		number := s.ends()[which] - 1
		for _, expected := range []int{number, 0, number + 7} {
			if got := s.find(which, at, expected); got != number {
				t.Fatalf("frame %d of track %d is found as %d, expected %d", number, which, got, expected)
			}
		}
		if s.find(which, at+1, number) >= 0 {
			t.Fatalf("frame %d of track %d is found with another time", number, which)
		}
	}
}

func TestWhatCannotBePublishedIsRefused(t *testing.T) {
	twice := append(flv.Header{Audio: true, Video: true}.Append(nil), 0, 0, 0, 0)
	f := floor{Floor: Floor{Form: FLV}}
	for range 3 {
		twice = f.frame(twice, flv.TagVideo, 40, []byte{0x17, 1, 0, 0, 0})
		twice = f.frame(twice, flv.TagAudio, 40, []byte{0xAF, 1})
	}
	for name, file := range map[string][]byte{
		"nothing": nil, "text": []byte("not a video file at all"), "no media": twice[:13], "cut off": flvclip.File[:2000], "equal times": twice,
	} {
		if _, err := ParseClip(file); !errors.Is(err, ErrClip) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
