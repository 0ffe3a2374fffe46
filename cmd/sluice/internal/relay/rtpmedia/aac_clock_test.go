package rtpmedia

import (
	"slices"
	"testing"
	"time"

	"github.com/pion/rtp"

	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// Frames of HE-AAC that share a packet follow each other by their length in the clock that the description
// says, which may be that of the AAC below: half the rate that is heard.
func TestFramesOfHEAACFollowEachOtherInTheirClock(t *testing.T) {
	for encoding, step := range map[string]uint32{"mpeg4-generic/24000/2": 1024, "mpeg4-generic/48000/2": 2048} {
		f, err := ParseFormat(false, 97, encoding, Params("mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=2B118800"))
		if err != nil {
			t.Fatal(err)
		}
		alloc := mem.New(mem.Options{})
		sluicetest.NoLeaks(t, alloc)
		var got []uint32
		c := NewCollector(f, alloc, 1<<20, func(s Sample) error {
			got = append(got, s.Timestamp)
			s.Packed.Release()
			return nil
		})
		p := rtp.Packet{Header: rtp.Header{Version: 2, PayloadType: 97, Timestamp: 7, Marker: true}, Payload: []byte{0, 48, 0, 2 << 3, 0, 1 << 3, 0, 2 << 3, 'a', 'a', 'b', 'c', 'c'}}
		raw, err := p.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		b := alloc.Get(len(raw))
		copy(b.Bytes(), raw)
		if err := c.Push(b, time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
		c.Close()
		if want := []uint32{7, 7 + step, 7 + 2*step}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", encoding, got, want)
		}
	}
}
