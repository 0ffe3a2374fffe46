package au

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/av1"

	"github.com/sluice-go/sluice/flv"
)

// SVT-AV1 4.0 in ffmpeg 9, 320x180: it says that there are display delays.
const svtSequenceHex = "0a0b0200000521e7f66257c802"

// row makes bytes of digits, with a one and zeros behind them.
func row(digits string) []byte {
	digits = strings.ReplaceAll(digits, " ", "") + "1"
	digits += strings.Repeat("0", (8-len(digits)%8)%8)
	var p []byte
	for ; digits != ""; digits = digits[8:] {
		b, err := strconv.ParseUint(digits[:8], 2, 8)
		if err != nil {
			panic(err)
		}
		p = append(p, byte(b))
	}
	return p
}

func TestSequenceHeaderOfSVT(t *testing.T) {
	sequence := unhex(t, svtSequenceHex)
	c, err := NewAV1Config(sequence)
	if err != nil {
		t.Fatal(err)
	}
	if want := append([]byte{0x81, 0, 0x0c, 0}, sequence...); !bytes.Equal(c.Record, want) {
		t.Errorf("% x, want % x", c.Record, want)
	}
	v, err := flv.ParseVideoConfig(flv.CodecAV1, c.Record)
	if err != nil || v.Width != 320 || v.Height != 180 {
		t.Errorf("%+v, %v", v, err)
	}
}

// What follows the operating points is kept bit by bit, whatever stands before it.
func TestPlainSequence(t *testing.T) {
	// 1920x1000; no frame ids; 13 tools off; 8 bits, no colours; no film grain.
	const rest = "1010 1001 11101111111 1111100111 0" + "000 0000 0 1 1 0 0 0" + "00 0 0 00" + "0"
	point := func(level string) string { return "000000000000 " + level }
	n32 := func(n int) string { return fmt.Sprintf("%032b", n) }
	plain := "000 0 0 0 0 00001" + point("01000 1") + point("00001") + rest
	for name, c := range map[string]struct{ with, want string }{
		"plain":          {plain, plain},
		"display delays": {"000 0 0 0 1 00001" + point("01000 1") + "1 1010" + point("00001") + "0" + rest, plain},
		"timing":         {"000 0 0 1" + n32(1) + n32(60) + "1 00111 0 0 00001" + point("01000 1") + point("00001") + rest, plain},
		"all": {"000 0 0 1" + n32(1001) + n32(60000) + "0 1 01001" + n32(77) + "00000 00000 1 00001" +
			point("01000 1") + "1" + strings.Repeat("1", 21) + "1 0101" + point("00001") + "0 0" + rest, plain},
		"still": {"000 1 1 00100" + rest, "000 1 1 00100" + rest},
	} {
		payload, want := row(c.with), append([]byte{0x08}, row(c.want)...)
		for form, obu := range map[string][]byte{
			"sized":     AppendOBU(nil, 0x08, nil, payload),
			"bare":      append([]byte{0x08}, payload...),
			"extension": AppendOBU(nil, 0x0c, []byte{0x20}, payload),
		} {
			got, err := PlainSequence(obu)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s, %s: %x, %v, want %x", name, form, got, err, want)
			}
		}
		var h av1.SequenceHeader
		if err := h.Unmarshal(want); err != nil || h.Width() != 1920 || h.Height() != 1000 {
			t.Errorf("%s: the library reads %dx%d, %v", name, h.Width(), h.Height(), err)
		}
	}
}

func TestPlainSequenceOfDamagedHeaders(t *testing.T) {
	whole := unhex(t, svtSequenceHex)
	for _, obu := range [][]byte{nil, {0x12, 0}, {0x0a, 9, 1}, {0x0a, 0}, {0x0a, 3, 0x06, 0, 0}} {
		if p, err := PlainSequence(obu); !errors.Is(err, ErrSyntax) {
			t.Errorf("% x: % x, %v", obu, p, err)
		}
	}
	for n := range len(whole) - 2 {
		cut := AppendOBU(nil, 0x08, nil, whole[2:2+n])
		if c, err := NewAV1Config(cut); !errors.Is(err, ErrSyntax) {
			t.Errorf("%s: %+v, %v", hex.EncodeToString(cut), c, err)
		}
	}
}

// A header that ends within its timing is refused, also where a number of no bits is all that is left.
func TestASequenceHeaderThatEndsInItsTiming(t *testing.T) {
	whole := []byte{obuSequenceHeader << 3, 0x04, 0, 0, 0, 0, 0, 0, 0, 0x03} // equal intervals, of a number of 0 bits
	for n := 1; n <= len(whole); n++ {
		if _, err := PlainSequence(whole[:n]); !errors.Is(err, ErrSyntax) {
			t.Errorf("%x: %v", whole[:n], err)
		}
	}
}
