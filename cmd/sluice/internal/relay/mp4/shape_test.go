package mp4

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

func shaped(t *testing.T, codec flv.FourCC, sets ...string) *au.Config {
	t.Helper()
	var list [][]byte
	for _, text := range sets {
		p, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	c, err := au.NewVideoConfig(codec, list)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A header says which shape pixels have and how wide the picture is: players of browsers do not look for it in the
// parameter sets. Pixels of these are 64:45, the picture is 720 × 576. The configuration is read from such a header too.
func TestHeaderSaysTheShapeOfPixels(t *testing.T) {
	for _, c := range []*au.Config{
		shaped(t, flv.CodecAVC, "6742001eda02d049bff0040002d6a120212040", "68ce0fc8"),
		shaped(t, flv.CodecHEVC, "40010c01ffff01600000030090000003000003003c959409", "4201010220000003000003000003000003005da005a200904d96b92f08ffc010000b5a8488048040", "4401c073c189"),
	} {
		track, err := ConfigTrack(1, true, c)
		if err != nil {
			t.Fatalf("%v: %v", c.Codec, err)
		}
		header, err := Front([]Track{track})
		if err != nil {
			t.Fatal(err)
		}
		if shape := "\x00\x00\x00\x10pasp\x00\x00\x00\x40\x00\x00\x00\x2d"; !bytes.Contains(header, []byte(shape)) {
			t.Errorf("%v: the shape is not in %x", c.Codec, header)
		}
		tkhd := inside(inside(inside(header, "moov"), "trak"), "tkhd")
		if got := hex.EncodeToString(tkhd[len(tkhd)-8:]); got != "0400000002400000" {
			t.Errorf("%v: the picture is %s, want 1024 × 576", c.Codec, got)
		}
		if list, err := Configs(header); err != nil || len(list) != 1 || !list[0].Config.Equal(c) {
			t.Errorf("%v: %+v, %v", c.Codec, list, err)
		}
	}
	square := shaped(t, flv.CodecAVC, "6742c01eda0280bfe5c044000003000400000300c83c58ba80", "68ce0fc8")
	if track, err := ConfigTrack(1, true, square); err != nil {
		t.Error(err)
	} else if header, err := Front([]Track{track}); err != nil || bytes.Contains(header, []byte("pasp")) {
		t.Errorf("square pixels: %v, %x", err, header)
	}
}
