package au

import (
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/av1"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"

	"github.com/sluice-go/sluice/flv"
)

// Transfer characteristics of high dynamic range (ITU-T H.273, section 8.2).
const (
	TransferPQ  = 16
	TransferHLG = 18
)

// A Look is what parameters say of how pictures are shown.
type Look struct {
	// PixelWidth and PixelHeight are the shape of a pixel, 1 and 1 of square ones, as are those of which
	// nothing is known: television of standard definition has others.
	PixelWidth, PixelHeight int
	// Transfer is how values become light (ITU-T H.273, section 8.2); 0 or 2: not known.
	Transfer int
}

// Look returns what the configuration of pictures says of how they are shown.
func (c *Config) Look() Look {
	look := Look{PixelWidth: 1, PixelHeight: 1}
	switch c.Codec {
	case flv.CodecAVC:
		var s h264.SPS
		if p := c.set(avcSPS); p != nil && s.Unmarshal(p) == nil && s.VUI != nil {
			look.shape(s.VUI.AspectRatioInfoPresentFlag, s.VUI.AspectRatioIdc, s.VUI.SarWidth, s.VUI.SarHeight)
			look.Transfer = int(s.VUI.TransferCharacteristics)
		}
	case flv.CodecHEVC:
		var s h265.SPS
		if p := c.set(hevcSPS); p != nil && s.Unmarshal(p) == nil && s.VUI != nil {
			look.shape(s.VUI.AspectRatioInfoPresentFlag, s.VUI.AspectRatioIdc, s.VUI.SarWidth, s.VUI.SarHeight)
			look.Transfer = int(s.VUI.TransferCharacteristics)
		}
	case flv.CodecAV1:
		var s av1.SequenceHeader
		if p, err := c.PlainSequence(); err == nil && s.Unmarshal(p) == nil {
			look.Transfer = int(s.ColorConfig.TransferCharacteristics)
		}
	}
	return look
}

// set returns the first parameter set of a kind, nil when there is none.
func (c *Config) set(kind int) []byte {
	for _, s := range c.Sets {
		if NALType(c.Codec, s) == kind {
			return s
		}
	}
	return nil
}

// shapes are those of pixels by their number (H.264 and H.265, table E.1).
var shapes = [...][2]int{
	1: {1, 1}, {12, 11}, {10, 11}, {16, 11}, {40, 33}, {24, 11}, {20, 11}, {32, 11},
	{80, 33}, {18, 11}, {15, 11}, {64, 33}, {160, 99}, {4, 3}, {3, 2}, {2, 1},
}

// spelledOut is the number of a shape that is none of the table's.
const spelledOut = 255

func (l *Look) shape(said bool, number uint8, width, height uint16) {
	switch {
	case !said:
	case number == spelledOut && width > 0 && height > 0:
		l.PixelWidth, l.PixelHeight = int(width), int(height)
	case number > 0 && int(number) < len(shapes):
		l.PixelWidth, l.PixelHeight = shapes[number][0], shapes[number][1]
	}
}

// Square reports whether pixels are.
func (l *Look) Square() bool { return l.PixelWidth == l.PixelHeight }

// Shown returns how wide a picture of so many pixels is where pixels are square.
func (l *Look) Shown(width int) int {
	return (width*l.PixelWidth + l.PixelHeight/2) / l.PixelHeight
}
