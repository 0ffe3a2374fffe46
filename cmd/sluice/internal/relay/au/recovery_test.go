package au

import (
	"bytes"
	"testing"

	"github.com/sluice-go/sluice/flv"
)

func TestRecoveryPointsAreKeyFrames(t *testing.T) {
	message := func(kind, size int, escaped ...byte) []byte { // a message, with what prevents start codes
		return append([]byte{byte(kind), byte(size)}, escaped...)
	}
	point := message(6, 1, 0xc4)
	long := append(bytes.Repeat([]byte{0xff}, 2), append([]byte{5, 3}, 1, 2, 3)...) // type 515
	for _, c := range []struct {
		name string
		nal  []byte // without its header
		want bool
	}{
		{"alone", point, true},
		{"behind others", append(append(message(0, 2, 1, 2), message(1, 3, 9, 9, 9)...), point...), true},
		{"behind a long type", append(long, point...), true},
		{"behind escaped bytes", append(message(1, 4, 0, 0, 3, 0, 1), point...), true},
		{"in another message", message(5, 4, 6, 1, 0xc4, 0x80), false},
		{"none", message(1, 3, 6, 6, 6), false},
		{"cut off", []byte{6}, false},
		{"cut off in a type", []byte{255, 255}, false},
		{"nothing", nil, false},
	} {
		for codec, header := range map[flv.FourCC][]byte{flv.CodecAVC: {6}, flv.CodecHEVC: {39 << 1, 1}} {
			nal := append(append(bytes.Clone(header), c.nal...), 0x80)
			picture := []byte{0x41, 1, 2}
			if codec == flv.CodecHEVC {
				picture = []byte{1 << 1, 1, 2}
			}
			b := InBand{Codec: codec}
			if _, key := b.Learn([][]byte{nal, picture}); key != c.want {
				t.Errorf("%s, %v: key frame %v", c.name, codec, key)
			}
			if _, key := b.Learn([][]byte{append([]byte{0x01, 1}, c.nal...), picture}); key {
				t.Errorf("%s, %v: a unit of another type makes a key frame", c.name, codec)
			}
		}
	}
}

func FuzzRecoveryPoint(f *testing.F) {
	f.Add([]byte{6, 0, 2, 1, 2, 6, 1, 0xc4, 0x80})
	f.Fuzz(func(t *testing.T, nal []byte) {
		hasRecoveryPoint(flv.CodecAVC, nal)
		hasRecoveryPoint(flv.CodecHEVC, nal)
	})
}
