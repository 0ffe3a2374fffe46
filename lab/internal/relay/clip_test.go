package relay

import (
	"errors"
	"slices"
	"testing"

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
	if len(c.tracks[video].times) != 300 || len(c.tracks[audio].times) != 432 || len(c.Media) != 732 {
		t.Errorf("%d video, %d audio packets of %d", len(c.tracks[video].times), len(c.tracks[audio].times), len(c.Media))
	}
	var kinds []uint8
	for _, h := range c.Head {
		kinds = append(kinds, h.Kind)
	}
	slices.Sort(kinds)
	if !slices.Equal(kinds, []uint8{kindAudio, kindVideo, kindScript}) {
		t.Errorf("before the media stand %v", kinds)
	}
	if c.Length < 10_000 || c.Length > 10_100 || c.Rate() < 500_000 || c.Rate() > 2_000_000 {
		t.Errorf("%d ms at %.0f bit/s", c.Length, c.Rate())
	}
}

func TestAClipGoesOnFromItsEnd(t *testing.T) {
	c := testClip(t)
	last := [2]int64{-1, -1}
	count := [2]int{}
	for n := range 3*len(c.Media) + 5 {
		tag, at := c.at(n)
		which := trackOf(tag.Kind)
		if int64(at) <= last[which] || int64(at)-last[which] > 150 {
			t.Fatalf("frame %d of kind %d is at %d ms, the one before at %d", n, tag.Kind, at, last[which])
		}
		last[which] = int64(at)
		number := count[which]
		count[which]++
		for _, expected := range []int{-1, number, 0, number + 7} {
			if got := c.find(which, at, len(tag.Payload), expected); got != number {
				t.Fatalf("frame %d of track %d is found as %d, expected %d", number, which, got, expected)
			}
		}
		if c.find(which, at, len(tag.Payload)+1, number) >= 0 || c.find(which, at+1, len(tag.Payload), number) >= 0 {
			t.Fatalf("frame %d of track %d is found with another size or time", number, which)
		}
		if &c.payload(which, number)[0] != &tag.Payload[0] {
			t.Fatalf("frame %d of track %d has another's payload", number, which)
		}
	}
}

func TestWhatCannotBePublishedIsRefused(t *testing.T) {
	var twice []byte
	twice = append(twice, flvStart...)
	for range 3 {
		twice = appendTag(twice, kindVideo, 40, []byte{0x17, 1, 0, 0, 0})
		twice = appendTag(twice, kindAudio, 40, []byte{0xAF, 1})
	}
	for name, file := range map[string][]byte{
		"nothing": nil, "text": []byte("not a video file at all"), "no media": []byte(flvStart), "cut off": flvclip.File[:2000], "equal times": twice,
	} {
		if _, err := ParseClip(file); !errors.Is(err, ErrClip) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
