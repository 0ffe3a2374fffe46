package flv_test

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/flv"
)

// bitRow writes what encoders at hand do not.
type bitRow struct {
	p []byte
	n int
}

func (b *bitRow) put(v uint64, n int) {
	for i := n - 1; i >= 0; i-- {
		if b.n%8 == 0 {
			b.p = append(b.p, 0)
		}
		b.p[b.n/8] |= byte(v>>i&1) << (7 - b.n%8)
		b.n++
	}
}

// bits writes flags and fields spelled out in zeros and ones.
func (b *bitRow) bits(s string) {
	for _, c := range strings.ReplaceAll(s, " ", "") {
		b.put(uint64(c-'0'), 1)
	}
}

func (b *bitRow) ue(all ...uint64) {
	for _, v := range all {
		n := bits.Len64(v + 1)
		b.put(0, n-1)
		b.put(v+1, n)
	}
}

func (b *bitRow) se(all ...int) {
	for _, v := range all {
		if v > 0 {
			b.ue(uint64(2*v - 1))
		} else {
			b.ue(uint64(-2 * v))
		}
	}
}

// unit is the row as the unit of a stream: no start code is in it.
func (b *bitRow) unit() []byte {
	b.put(1, 1)
	var out []byte
	zeros := 0
	for _, c := range b.p {
		if zeros == 2 && c <= 3 {
			out, zeros = append(out, 3), 0
		}
		if out = append(out, c); c == 0 {
			zeros++
		} else {
			zeros = 0
		}
	}
	return out
}

// avcRecord is a configuration with one set.
func avcRecord(b *bitRow) []byte {
	set := append([]byte{0x67}, b.unit()...)
	p := binary.BigEndian.AppendUint16([]byte{1, 0, 0, 0, 0xff, 0xe1}, uint16(len(set)))
	return append(append(p, set...), 1, 0, 0)
}

func TestRareAVCSets(t *testing.T) {
	for name, c := range map[string]struct {
		write func(b *bitRow)
		want  flv.VideoConfig
	}{
		"scaling lists": {func(b *bitRow) {
			b.put(244, 8)
			b.put(0, 8)
			b.put(31, 8)
			b.ue(0, 3) // number, 4:4:4
			b.bits("1")
			b.ue(0, 0)
			b.bits("0 1") // lists follow
			for i := range 12 {
				switch i {
				case 0: // given in full
					b.bits("1")
					for k := range 16 {
						b.se(k%3 - 1)
					}
				case 1, 7: // the default: the first comes to 0
					b.bits("1")
					b.se(-8)
				case 8: // ends early: the rest repeats
					b.bits("1")
					b.se(3, 4, -15)
				default:
					b.bits("0")
				}
			}
			b.ue(0, 2, 4) // frame numbers, order, references
			b.bits("0")
			b.ue(9, 7)
			b.bits("1 1 1") // frames only; cropping
			b.ue(1, 2, 3, 4)
			b.bits("0")
		}, flv.VideoConfig{Profile: 244, Level: 31, Width: 157, Height: 121}},
		"order of kind 1, fields, 4:2:0, time": {func(b *bitRow) {
			b.put(77, 8)
			b.put(0, 8)
			b.put(40, 8)
			b.ue(31, 12, 1)
			b.bits("0")
			b.se(-5, 7)
			b.ue(3)
			b.se(1, -1, 1000)
			b.ue(16)
			b.bits("1")
			b.ue(119, 33)
			b.bits("0 1 1 1") // fields, of 2 macroblocks; cropping
			b.ue(0, 0, 0, 2)
			b.bits("1") // usability
			b.bits("1")
			b.put(255, 8)
			b.put(4, 16)
			b.put(3, 16)
			b.bits("1 1") // overscan
			b.bits("1 101 1 1")
			b.put(0x010101, 24)
			b.bits("1")
			b.ue(1, 2)
			b.bits("1")
			b.put(1001, 32)
			b.put(60000, 32)
			b.bits("1")
		}, flv.VideoConfig{Profile: 77, Level: 40, Width: 1920, Height: 1080, FrameRate: 60000.0 / 1001 / 2}},
		"zeros that are escaped": {func(b *bitRow) {
			b.put(66, 8)
			b.put(0, 8)
			b.put(0, 8)
			b.ue(0, 0, 2, 0)
			b.bits("0")
			b.ue(0, 0)
			b.bits("1 1 0 1") // usability
			b.bits("0 0 0 0 1")
			b.put(1, 32)
			b.put(1<<24, 32)
			b.bits("1")
		}, flv.VideoConfig{Profile: 66, Width: 16, Height: 16, FrameRate: 1 << 23}},
	} {
		b := new(bitRow)
		c.write(b)
		p := avcRecord(b)
		if name == "zeros that are escaped" && !bytes.Contains(p, []byte{0, 0, 3, 0}) {
			t.Errorf("%x has no escape", p)
		}
		c.want.Codec = flv.CodecAVC
		if got, err := flv.ParseAVCConfig(p); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
}

func TestAVCSetsThatCannotBe(t *testing.T) {
	for name, sizes := range map[string][2]uint64{"too wide": {4096, 1}, "too high": {1, 1 << 30}} {
		b := new(bitRow)
		b.put(66<<16, 24)
		b.ue(0, 0, 2, 0)
		b.bits("0")
		b.ue(sizes[0], sizes[1])
		b.bits("1 1 0 0")
		if got, err := flv.ParseAVCConfig(avcRecord(b)); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	b := new(bitRow)
	b.put(66<<16, 24)
	b.ue(0, 0, 2, 0)
	b.bits("0")
	b.ue(0, 0)
	b.bits("1 1 1")
	b.ue(4, 4, 0, 0) // all 16 columns are cut away
	b.bits("0")
	if got, err := flv.ParseAVCConfig(avcRecord(b)); err == nil {
		t.Errorf("nothing is left: %+v", got)
	}
}

func TestHEVCSetOfSeveralLayers(t *testing.T) {
	b := new(bitRow)
	b.bits("0000 010 1") // three layers
	b.bits("00 0 00010")
	b.put(0, 40)
	b.put(0, 40)
	b.put(93, 8)
	b.bits("11 01") // both have a level, the first a profile too
	b.put(0, 2*6)
	b.put(1<<40, 44)
	b.put(1<<20, 44)
	b.put(60, 8)
	b.put(63, 8)
	b.ue(0, 2) // 4:2:2
	b.ue(1928, 1088)
	b.bits("1")
	b.ue(2, 2, 0, 8)
	set := append([]byte{0x42, 1}, b.unit()...)
	p := append(make([]byte, 22), 2, 32, 0, 1, 0, 2, 'v', 'p', 0xa1, 0, 1)
	p = append(binary.BigEndian.AppendUint16(p, uint16(len(set))), set...)
	want := flv.VideoConfig{Codec: flv.CodecHEVC, Profile: 2, Level: 93, Width: 1920, Height: 1080}
	if got, err := flv.ParseHEVCConfig(p); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

func TestRareAV1Headers(t *testing.T) {
	size := func(b *bitRow, width, height uint64) {
		b.put(10, 4)
		b.put(9, 4)
		b.put(width-1, 11)
		b.put(height-1, 10)
	}
	for name, c := range map[string]struct {
		write func(b *bitRow)
		rate  float64
	}{
		"a still picture": {func(b *bitRow) {
			b.bits("000 1 1 00100")
			size(b, 1920, 1000)
		}, 0},
		"time and decoders": {func(b *bitRow) {
			b.bits("000 0 0 1") // timing
			b.put(1, 32)
			b.put(120, 32)
			b.bits("1")
			b.ue(1)       // two units a picture
			b.bits("1")   // decoders
			b.put(9, 5)   // 10 bits of delays
			b.put(77, 32) // and the rest
			b.put(0, 10)
			b.bits("1 00001") // display delays; two points
			b.put(0, 12)
			b.bits("01000 1 1") // level 8 and its tier; decoder
			b.put(0, 21)
			b.bits("1 0101")
			b.put(0, 12)
			b.bits("00001 0 0")
			size(b, 1920, 1000)
		}, 60},
	} {
		b := new(bitRow)
		c.write(b)
		b.put(0, 16)
		temporal := []byte{0x12, 0} // a unit before it
		unit := append([]byte{0x0e, 0, byte(len(b.p))}, b.p...)
		p := append(append([]byte{0x81, 0x08, 0, 0}, temporal...), unit...)
		want := flv.VideoConfig{Codec: flv.CodecAV1, Level: 8, Width: 1920, Height: 1000, FrameRate: c.rate}
		if got, err := flv.ParseAV1Config(p); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
		bare := append([]byte{0x81, 0x08, 0, 0, 0x08}, b.p...) // no size: to the end
		if got, err := flv.ParseAV1Config(bare); err != nil || got != want {
			t.Errorf("%s, without a size: %+v, %v", name, got, err)
		}
	}
	if got, err := flv.ParseAV1Config([]byte{0x81, 0x48, 0, 0}); err != nil || got.Profile != 2 || got.Width != 0 {
		t.Errorf("without a header: %+v, %v", got, err)
	}
}
