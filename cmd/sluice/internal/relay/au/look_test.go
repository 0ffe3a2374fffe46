package au

import (
	"testing"

	"github.com/sluice-go/sluice/flv"
)

// A bitLine is bits that a test writes.
type bitLine []byte

func (b *bitLine) put(n int, v uint64) {
	for n--; n >= 0; n-- {
		*b = append(*b, byte(v>>n&1))
	}
}

// ue writes a number as H.264 does (section 9.1).
func (b *bitLine) ue(v uint64) {
	n := 0
	for (v+1)>>(n+1) > 0 {
		n++
	}
	b.put(n, 0)
	b.put(n+1, v+1)
}

// unit returns the bits behind a header, with what prevents start codes.
func (b *bitLine) unit(header ...byte) []byte {
	b.put(1, 1)
	for len(*b)%8 != 0 {
		b.put(1, 0)
	}
	zeros := 0
	for i := 0; i < len(*b); i += 8 {
		v := byte(0)
		for _, bit := range (*b)[i : i+8] {
			v = v<<1 | bit
		}
		if zeros >= 2 && v <= 3 {
			header, zeros = append(header, 3), 0
		}
		if header = append(header, v); v == 0 {
			zeros++
		} else {
			zeros = 0
		}
	}
	return header
}

// shown is what of a parameter set says how its pictures are shown.
func (b *bitLine) shown(shape, width, height, transfer uint64) {
	b.put(1, 1) // there is usability information
	b.put(1, 1)
	b.put(8, shape)
	if shape == 255 {
		b.put(16, width)
		b.put(16, height)
	}
	b.put(1, 0) // overscan
	b.put(1, 1) // kind of signal
	b.put(3, 5)
	b.put(1, 0)
	b.put(1, 1)
	b.put(8, 9)
	b.put(8, transfer)
	b.put(8, 9)
	b.put(1, 0) // place of chroma samples
}

// avcOf returns a sequence parameter set of 720 × 576.
func avcOf(shape, width, height, transfer uint64) []byte {
	var b bitLine
	b.put(24, 66<<16|30)
	b.ue(0)
	b.ue(0)
	b.ue(2)
	b.ue(1)
	b.put(1, 0)
	b.ue(720/16 - 1)
	b.ue(576/16 - 1)
	b.put(3, 0b110)
	b.shown(shape, width, height, transfer)
	b.put(5, 0) // timing, buffers, structure, restrictions
	return b.unit(0x67)
}

// hevcOf returns a sequence parameter set of 720 × 576.
func hevcOf(shape, width, height, transfer uint64) []byte {
	var b bitLine
	b.put(8, 1)
	b.put(8, 2) // Main 10
	b.put(32, 0x20000000)
	b.put(48, 0)
	b.put(8, 93)
	b.ue(0)
	b.ue(1)
	b.ue(720)
	b.ue(576)
	b.put(1, 0)
	b.ue(2)
	b.ue(2)
	b.ue(4)
	b.put(1, 1)
	for _, v := range []uint64{1, 0, 0, 0, 3, 0, 2, 0, 0} {
		b.ue(v)
	}
	b.put(4, 0)
	b.ue(0)
	b.put(3, 0)
	b.shown(shape, width, height, transfer)
	b.put(6, 0) // what is shown, fields, timing, restrictions
	b.put(1, 0) // extensions
	return b.unit(0x42, 1)
}

func TestLook(t *testing.T) {
	for _, c := range []struct {
		shape, width, height, transfer uint64
		want                           Look
		shown                          int
	}{
		{0, 0, 0, 2, Look{1, 1, 2}, 720},
		{1, 0, 0, 1, Look{1, 1, 1}, 720},
		{4, 0, 0, 6, Look{16, 11, 6}, 1047},
		{255, 64, 45, TransferPQ, Look{64, 45, 16}, 1024},
		{255, 0, 45, TransferHLG, Look{1, 1, 18}, 720},
		{200, 0, 0, 1, Look{1, 1, 1}, 720},
	} {
		avc := &Config{Codec: flv.CodecAVC, Sets: [][]byte{avcOf(c.shape, c.width, c.height, c.transfer)}}
		hevc := &Config{Codec: flv.CodecHEVC, Sets: [][]byte{{0x40, 1, 0}, hevcOf(c.shape, c.width, c.height, c.transfer)}}
		for _, config := range []*Config{avc, hevc} {
			if look := config.Look(); look != c.want || look.Shown(720) != c.shown {
				t.Errorf("%v, shape %d, %d:%d, transfer %d: %+v, %d wide", config.Codec, c.shape, c.width, c.height, c.transfer, look, look.Shown(720))
			}
		}
	}
	for _, config := range []*Config{{Codec: flv.CodecAVC}, {Codec: flv.CodecHEVC, Sets: [][]byte{{0x42}}}, {Codec: flv.CodecAV1}, {Codec: flv.CodecVP9}} {
		if look := config.Look(); look != (Look{PixelWidth: 1, PixelHeight: 1}) {
			t.Errorf("%v without parameters: %+v", config.Codec, look)
		}
	}
}
