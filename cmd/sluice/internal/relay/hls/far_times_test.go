package hls

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
)

// far returns a line, and what makes pictures and sound for it.
func far(t *testing.T) (x *line, picture func(at uint32, key bool) au.Unit, sound func(at uint32) au.Unit) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	picture = func(at uint32, key bool) au.Unit {
		return au.Unit{Video: true, Codec: video.Codec, Config: video, Time: at, Key: key, Parts: [][]byte{{0x65, 1}}}
	}
	sound = func(at uint32) au.Unit {
		return au.Unit{Codec: audio.Codec, Config: audio, Time: at, Key: true, Parts: [][]byte{{1, 2, 3}}}
	}
	return newLine(t, video, audio, nil), picture, sound
}

// Where a track is weeks ahead of the other, as its publisher says, a segment does not go on up to there: it would
// in as many steps, and with years never end.
func TestSegmentsEndThoughATrackIsFarAhead(t *testing.T) {
	x, picture, sound := far(t)
	for _, at := range []uint32{0, 1<<31 - 1} { // before the first key frame nothing is cut, whatever the times
		x.put(picture(0, false))
		x.put(sound(at))
	}
	x.put(picture(40, true))
	x.put(sound(1<<31 + 20))
	x.put(picture(80, false))
	before := x.cutter.part
	if x.cutter.finish(); x.cutter.part-before > longestSegment+1000 {
		t.Errorf("parts go on for %d ms", x.cutter.part-before)
	}
}

// Times that jump again and again do not leave what ticks can count: silence beside pictures would never end.
func TestTimesThatJumpForever(t *testing.T) {
	x, picture, sound := far(t)
	at := uint32(0)
	for range 200 {
		at += 1<<31 - 1
		p, s := picture(at, false), sound(at)
		if !x.cutter.put(&p) || !x.cutter.put(&s) {
			t.Fatal("no memory")
		}
	}
	if latest := x.cutter.clock.at; latest > 2*farthest {
		t.Errorf("the clock has come to %d ms", latest)
	}
	for i := range uint32(200) { // silence comes in place of the sound
		x.put(picture(at+40*i, i%25 == 0))
	}
}
