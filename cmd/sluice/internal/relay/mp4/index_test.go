package mp4

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
)

// A file may come from elsewhere: a fragment whose first track has no samples, which no recording of this package
// has, ends nothing but the list.
func TestFragmentsWithoutSamples(t *testing.T) {
	c, err := au.NewAACConfig([]byte{0x12, 0x10})
	if err != nil {
		t.Fatal(err)
	}
	track, err := ConfigTrack(1, false, c)
	if err != nil {
		t.Fatal(err)
	}
	header, _, err := Header([]Track{track})
	if err != nil {
		t.Fatal(err)
	}
	wall := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	whole := append(AppendFragment(header, 1, wall, []Run{{Track: 1, Samples: []Sample{{Size: 4, Duration: 1024, Key: true}}}}), "data"...)
	empty := AppendFragment(nil, 2, wall.Add(time.Second), []Run{{Track: 1, Base: 1024}})
	file := append(bytes.Clone(whole), empty...)
	x, err := Scan(bytes.NewReader(file), int64(len(file)))
	if len(x.Fragments) != 1 || x.End != int64(len(whole)) || err == nil {
		t.Errorf("%d fragments, up to %d of %d bytes: %v", len(x.Fragments), x.End, len(file), err)
	}
	for n := range empty { // nor does anything else that a part of it says
		for _, value := range []uint32{0, 1, 1 << 31, 1<<32 - 1} {
			p := bytes.Clone(file)
			if at := len(whole) + n; at+4 <= len(p) {
				binary.BigEndian.PutUint32(p[at:], value)
			}
			if x, _ := Scan(bytes.NewReader(p), int64(len(p))); !x.Begin().Equal(wall) {
				t.Fatalf("the first fragment is of %v", x.Begin())
			}
		}
	}
}
