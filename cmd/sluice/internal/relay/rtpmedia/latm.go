package rtpmedia

import (
	"encoding/hex"
	"fmt"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg4audio"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
)

// parseLATM reads the parameters of MP4A-LATM (RFC 6416, section 7.3), as GStreamer and
// some cameras send AAC: one layer, one frame in each element, the configuration here and
// not among the frames.
func (f *Format) parseLATM(params map[string]string) error {
	text, err := hex.DecodeString(params["config"])
	if err != nil {
		return fmt.Errorf("%w: MP4A-LATM configuration %.40q", ErrSyntax, params["config"])
	}
	if params["cpresent"] != "0" {
		return fmt.Errorf("%w: MP4A-LATM with its configuration among the frames", ErrCodec)
	}
	if asc := extendedASC(text); asc != nil {
		return f.setLATM(asc)
	}
	var mux mpeg4audio.StreamMuxConfig
	if err := mux.Unmarshal(text); err != nil {
		return fmt.Errorf("%w: MP4A-LATM configuration: %w", ErrSyntax, err)
	}
	if mux.NumSubFrames != 0 || len(mux.Programs) != 1 || len(mux.Programs[0].Layers) != 1 || mux.Programs[0].Layers[0].FrameLengthType != 0 || mux.OtherDataPresent {
		return fmt.Errorf("%w: MP4A-LATM with several frames or layers in an element", ErrCodec)
	}
	asc, err := mux.Programs[0].Layers[0].AudioSpecificConfig.Marshal()
	if err != nil {
		return fmt.Errorf("%w: MP4A-LATM configuration: %w", ErrSyntax, err)
	}
	return f.setLATM(asc)
}

func (f *Format) setLATM(asc []byte) (err error) {
	if f.Config, err = au.NewAACConfig(asc); err != nil {
		return fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	f.Codec, f.latm = flv.CodecAAC, true
	return nil
}

// extendedASC returns AAC's configuration in a StreamMuxConfig of one layer when an
// extension stands behind it that says whether there is SBR; else nil. Nothing says how
// long a configuration is there, so by the standard it has no extension (ISO/IEC 14496-3,
// section 1.6.2.1). GStreamer writes what the encoder has made, which libavcodec's AAC
// does with one, and nothing behind it.
func extendedASC(mux []byte) []byte {
	// One frame, program and layer take 15 bits, the configuration 16 and 21 with the
	// extension, which 0x2b7 begins.
	const length = 5
	if len(mux) < 2+length || mux[0] != 0x40 || mux[1]&^1 != 0 {
		return nil
	}
	asc := make([]byte, length)
	for i := range asc {
		asc[i] = mux[i+1]<<7 | mux[i+2]>>1
	}
	if asc[2] != 0x56 || asc[3]&0xe0 != 0xe0 {
		return nil
	}
	return asc
}

// latm takes an element, a frame behind its length, or a fragment of one (RFC 6416,
// section 6.3; ISO/IEC 14496-3, section 1.7.3.1).
func (c *Collector) latm(payload mem.Buf) error {
	p := payload.Bytes()
	if !c.unit.empty() {
		if !c.keep(&payload, 0) || c.length() < c.element {
			return nil
		}
		last := &c.unit.pieces[len(c.unit.pieces)-1]
		*last = (*last)[:len(*last)-(c.length()-c.element)]
		return c.parts()
	}
	size, at := 0, 0
	for at < len(p) {
		b := p[at]
		at++
		if size += int(b); b != 255 {
			break
		}
	}
	switch rest := len(p) - at; {
	case size == 0 || rest == 0 || size > maxSound:
		return nil
	case size <= rest:
		return c.frame(p[at : at+size])
	}
	c.element = size
	c.keep(&payload, at)
	return nil
}
