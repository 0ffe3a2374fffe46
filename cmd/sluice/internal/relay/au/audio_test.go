package au

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
)

// A configuration of AAC says whether frames have 1,024 samples or 960, as in radio (ISO/IEC
// 14496-3, section 4.4.1); HE-AAC has twice as many where the rate that is heard is.
func TestHowLongAFrameOfAACIs(t *testing.T) {
	for _, c := range []struct {
		asc     []byte
		samples int
		lasts   time.Duration
	}{
		{[]byte{0x11, 0x90}, 1024, 21_333_333},           // LC, 48 kHz
		{[]byte{0x11, 0x94}, 960, 20 * time.Millisecond}, // and the flag
		{[]byte{0x2b, 0x11, 0x88, 0}, 2048, 42_666_666},  // HE-AAC, 24 and 48 kHz
		{[]byte{0x2b, 0x11, 0x8a, 0}, 1920, 40 * time.Millisecond},
		{[]byte{0x11, 0x90, 0x56, 0xe5, 0x00}, 1024, 21_333_333}, // with an extension
		{[]byte{0x29, 0x91, 0x88, 0}, 1024, 21_333_333},          // HE-AAC, 48 kHz both
		{[]byte{0xf8, 0xe8, 0x40, 0}, 512, 11_609_977},           // AAC-ELD, 44.1 kHz
		{[]byte{0xf8, 0xe8, 0x50, 0}, 480, 10_884_353},
		{[]byte{0xf9, 0x46, 0x40, 0}, 0, 0}, // xHE-AAC
	} {
		config, err := NewAACConfig(c.asc)
		if err != nil {
			t.Fatal(err)
		}
		if n, d := config.Samples(nil), config.Duration(nil); n != c.samples || d.Round(time.Microsecond) != c.lasts.Round(time.Microsecond) {
			t.Errorf("% x: %d samples, %v, want %d, %v", c.asc, n, d, c.samples, c.lasts)
		}
	}
}

// A frame of FLAC says itself how many samples it has (RFC 9639, section 9.1.1), behind a number of
// up to seven bytes where that is no usual one.
func TestHowLongAFrameOfFLACIs(t *testing.T) {
	config := &Config{Codec: flv.CodecFLAC, Rate: 48_000, Channels: 2}
	for _, c := range []struct {
		frame   string
		samples int
	}{
		{"\xff\xf8\x1a\x18\x00\x00", 192},
		{"\xff\xf8\x2a\x18\x00\x00", 576},
		{"\xff\xf8\x5a\x18\x00\x00", 4608},
		{"\xff\xf8\x8a\x18\x00\x00", 256},
		{"\xff\xf8\xca\x18\x00\x00", 4096},
		{"\xff\xf8\xfa\x18\x00\x00", 32768},
		{"\xff\xf8\x6a\x18\x7f\xff", 256},
		{"\xff\xf8\x7a\x18\xc2\x80\x03\xbf", 960},
		{"\xff\xf9\x7a\x18\xfe\x80\x80\x80\x80\x80\x80\xff\xff", 65536},
		{"\xff\xf9\x7a\x18\xfe\x80\x80\x80", 0}, // it ends there
		{"\xff\xf8\x6a\x18\xff", 0},
		{"\xff\xf8\x0a\x18\x00\x00", 0}, // reserved
		{"\xff\xf8\x1a", 0},
		{"", 0},
	} {
		if n := config.Samples([]byte(c.frame)); n != c.samples {
			t.Errorf("% x: %d samples, want %d", c.frame, n, c.samples)
		}
	}
}
