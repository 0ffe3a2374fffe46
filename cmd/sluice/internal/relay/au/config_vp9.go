package au

import (
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/vp9"

	"github.com/sluice-go/sluice/flv"
)

// VP9Key reports whether a decoder can begin at the frame, borrowed until it returns,
// and then returns its configuration.
func VP9Key(frame []byte) (*Config, bool) {
	var h vp9.Header
	if h.Unmarshal(frame) != nil || h.NonKeyFrame || h.ShowExistingFrame || h.ColorConfig == nil {
		return nil, false
	}
	// A VPCodecConfigurationRecord of version 1 (VP Codec ISO Media File Format
	// Binding, section 2.2), of unknown level and colours.
	const unknown = 2
	full := byte(0)
	if h.ColorConfig.ColorRange {
		full = 1
	}
	record := []byte{1, 0, 0, 0, h.Profile, 0, h.ColorConfig.BitDepth<<4 | h.ChromaSubsampling()<<1 | full, unknown, unknown, unknown, 0, 0}
	c, err := ParseConfig(flv.CodecVP9, record)
	if err != nil {
		return nil, false
	}
	c.Width, c.Height = h.Width(), h.Height()
	return c, true
}
