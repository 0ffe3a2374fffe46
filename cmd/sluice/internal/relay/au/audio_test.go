package au

import (
	"testing"
	"time"
)

// A configuration of AAC says whether frames have 1,024 samples or 960, as in radio (ISO/IEC
// 14496-3, section 4.4.1); HE-AAC has twice as many at the rate that is heard.
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
