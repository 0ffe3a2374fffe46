package au

import (
	"math/rand/v2"
	"testing"

	"github.com/sluice-go/sluice/sluicetest"
)

func TestTimingOfPicturesThatAreShownInTime(t *testing.T) {
	var x Timing
	for i, offset := range []int32{0, 120, 40, 0, 1, 8_388_607} {
		at := ^uint32(50) + uint32(i*40)
		if time, after := x.Next(at, offset); time != at || after != offset {
			t.Errorf("a picture at %d, %d after: %d, %d", at, offset, time, after)
		}
	}
}

// The order of a picture, one that it is predicted from, and those between.
func TestTimingOfPicturesThatAreShownTooEarly(t *testing.T) {
	for name, c := range map[string]struct {
		offsets, want []int32 // from when it is decoded to when it is shown
		times         []int32
	}{
		"two between":            {[]int32{0, 80, -40, -40, 0}, []int32{0, 80, 0, 0, 40}, []int32{0, 40, 40, 80, 120}},
		"from the first on":      {[]int32{-120, 0, -80}, []int32{0, 120, 40}, []int32{-120, -80, -40}},
		"too much to be true":    {[]int32{0, -801, 0}, []int32{0, 0, 0}, []int32{0, 40, 80}},
		"three, of which one is": {[]int32{0, 120, 0, -80, -40, 0}, []int32{0, 120, 0, 0, 39, 80}, []int32{0, 40, 80, 80, 81, 120}},
	} {
		t.Run(name, func(t *testing.T) {
			var x Timing
			for i, offset := range c.offsets {
				time, after := x.Next(uint32(i*40), offset)
				if int32(time) != c.times[i] || after != c.want[i] {
					t.Errorf("picture %d: decoded at %d, shown %d after, want %d and %d", i, int32(time), after, c.times[i], c.want[i])
				}
			}
		})
	}
}

// Against a model that knows by how much any picture has been too early so far: whatever a stream
// says, decode times do not go back, and a picture is shown when it was to be, unless one that was
// decoded before it was not known to have to be earlier.
func TestTimingOfRandomStreams(t *testing.T) {
	random := rand.New(rand.NewPCG(sluicetest.Seed(t), 1))
	for range 200 {
		var x Timing
		base := random.Uint32()
		at, most := int64(0), int64(0)
		var latest, given int64
		early, late := random.Int32N(1000), random.Int32N(300)
		for i := range 100 {
			offset := int64(random.Int32N(early+late+1) - early)
			if random.IntN(40) == 0 {
				at += []int64{-5000, -1001, -1000, -30, 20_000}[random.IntN(5)]
			}
			if -offset <= maxEarly {
				most = max(most, -offset)
			}
			time, after := x.Next(base+uint32(at), int32(offset))
			got := at + int64(int32(time-base-uint32(at)))
			again := i == 0 || at < given-otherClock
			if !again && got < latest {
				t.Fatalf("picture %d: decoded at %d, the one before at %d", i, got, latest)
			}
			want := max(at+offset, got)
			if !again && -offset <= maxEarly {
				want = max(at+offset, latest)
			}
			switch {
			case got+int64(after) != want || after < 0:
				t.Fatalf("picture %d: decoded at %d, shown at %d, want %d", i, got, got+int64(after), want)
			case got < at-most:
				t.Fatalf("picture %d: decoded at %d, of which only %d was to be earlier", i, at, most)
			case again && got != at-most:
				t.Fatalf("picture %d: decoded at %d, want %d", i, got, at-most)
			case !again && got > max(at-most, latest+1):
				t.Fatalf("picture %d: decoded at %d, want at most %d", i, got, max(at-most, latest+1))
			}
			latest, given = got, at
			at += int64(random.IntN(3) * 20)
		}
	}
}
