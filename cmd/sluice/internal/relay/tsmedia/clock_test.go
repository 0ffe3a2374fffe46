package tsmedia

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"
)

// Where a sender's clock is set back, by however much, a stream's times go on, and its
// tracks stay together.
func TestAClockThatIsSetBack(t *testing.T) {
	units, video, audio := clip(t)
	const hour = 3_600_000
	for name, from := range map[string]struct {
		first, then uint32
		forward     bool
	}{
		"by hours":               {10 * hour, 0, false},
		"by a minute":            {60_000, 0, false},
		"to before it has begun": {hour, hour - 20_000, false},
		// Half of all numbers is 13.3 hours: this looks like one that is set forward.
		"by more than 13 hours":  {20 * hour, 0, true},
		"forward over the wrap":  {26 * hour, 27 * hour, true},
		"forward of FLV's times": {math.MaxUint32 - 1000, 60_000, true},
		"back over FLV's wrap":   {60_000, math.MaxUint32 - 60_000, false},
	} {
		t.Run(name, func(t *testing.T) {
			var ts []byte
			length := uint32(0)
			m, _, err := New(video, audio)
			if err != nil {
				t.Fatal(err)
			}
			for _, begin := range []uint32{from.first, from.then} {
				for _, u := range units {
					length = max(length, u.Time)
					u.Time += begin
					p, err := m.Append(&u)
					if err != nil {
						t.Fatal(err)
					}
					ts = append(ts, p...)
				}
			}
			got, err := demux(t, bytes.NewReader(ts))
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			kinds := byKind(got)
			ends := [2]uint32{}
			for kind, list := range kinds {
				for i, s := range list {
					if i > 0 && int32(s.at-list[i-1].at) < 0 {
						t.Fatalf("kind %d, unit %d is at %d after %d", kind, i, s.at, list[i-1].at)
					}
				}
				ends[kind] = list[len(list)-1].at
			}
			if d := int32(ends[0] - ends[1]); d < -200 || d > 200 {
				t.Errorf("pictures end at %d, sound at %d", ends[0], ends[1])
			}
			if d := ends[0]; !from.forward && d > 2*length+2000 {
				t.Errorf("it ends at %d ms, and is twice %d long", d, length)
			}
		})
	}
}
