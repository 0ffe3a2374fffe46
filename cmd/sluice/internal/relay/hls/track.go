package hls

import (
	"bytes"
	"fmt"
	"math/bits"
	"strings"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg4audio"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4/seekablebuffer"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/mp4/codecs"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/mp4"
	"github.com/sluice-go/sluice/flv"
)

// videoScale is the ticks a second of pictures, as is usual. The ring's milliseconds are
// whole ticks.
const videoScale = 90000

// carries reports whether HLS has a form for a codec (rfc8216bis, section 3.1.2; Apple's
// HLS authoring specification; AV1 and Opus as browsers take them in fragmented MP4).
func carries(codec flv.FourCC) bool {
	switch codec {
	case flv.CodecAVC, flv.CodecHEVC, flv.CodecAV1, flv.CodecAAC, flv.CodecOpus:
		return true
	}
	return false
}

// scaleOf returns the ticks a second of a track.
func scaleOf(video bool, c *au.Config) int64 {
	if video || c.Rate <= 0 {
		return videoScale
	}
	return int64(c.Rate)
}

// sampleEntry returns what an initialization says of a track.
func sampleEntry(c *au.Config) (codecs.Codec, error) {
	set := func(kind int) []byte {
		for _, s := range c.Sets {
			if au.NALType(c.Codec, s) == kind {
				return s
			}
		}
		return nil
	}
	switch c.Codec {
	case flv.CodecAVC:
		return &codecs.H264{SPS: set(7), PPS: set(8)}, nil
	case flv.CodecHEVC:
		return &codecs.H265{VPS: set(32), SPS: set(33), PPS: set(34)}, nil
	case flv.CodecAV1:
		plain, err := c.PlainSequence()
		if err != nil {
			return nil, err
		}
		return &codecs.AV1{SequenceHeader: plain}, nil
	case flv.CodecAAC:
		var a mpeg4audio.AudioSpecificConfig
		if err := a.Unmarshal(c.Record); err != nil {
			return nil, fmt.Errorf("%w: AAC configuration: %w", au.ErrSyntax, err)
		}
		return &codecs.MPEG4Audio{Config: a}, nil
	case flv.CodecOpus:
		if c.Channels > mp4.MaxOpusChannels {
			return nil, fmt.Errorf("%w: Opus of %d channels", au.ErrCodec, c.Channels)
		}
		return &codecs.Opus{ChannelCount: max(c.Channels, 1)}, nil
	}
	return nil, fmt.Errorf("%w: %v", au.ErrCodec, c.Codec)
}

// An initialization is the head of a movie whose fragments follow, and what playlists say
// of it.
type initialization struct {
	number        int
	bytes         []byte
	codecs        string // for CODECS
	width, height int    // 0: not known, or no picture
}

// newInitialization makes the head of a movie with these tracks, nil for one that there
// is not. Pictures are track 1, sound is track 2.
func newInitialization(video, audio *au.Config) (initialization, error) {
	var head fmp4.Init
	var names []string
	var in initialization
	for i, c := range []*au.Config{video, audio} {
		if c == nil {
			continue
		}
		entry, err := sampleEntry(c)
		if err != nil {
			return in, err
		}
		head.Tracks = append(head.Tracks, &fmp4.InitTrack{ID: i + 1, TimeScale: uint32(scaleOf(i == 0, c)), Codec: entry})
		names = append(names, codecName(c))
	}
	if video != nil {
		if v, err := flv.ParseVideoConfig(video.Codec, video.Record); err == nil {
			in.width, in.height = v.Width, v.Height
		}
	}
	var b seekablebuffer.Buffer
	if err := head.Marshal(&b); err != nil {
		return in, fmt.Errorf("%w: initialization: %w", au.ErrSyntax, err)
	}
	in.bytes, in.codecs = bytes.Clone(b.Bytes()), strings.Join(names, ",")
	return in, nil
}

// hasForm reports whether there can be a track with a configuration.
func hasForm(c *au.Config) bool {
	if len(c.Record) == 0 || !carries(c.Codec) {
		return false
	}
	video, audio := c, (*au.Config)(nil)
	if c.Rate > 0 {
		video, audio = audio, video
	}
	// The library looks at some parameters only when it writes them.
	_, err := newInitialization(video, audio)
	return err == nil
}

// codecName returns a codec's name for CODECS (RFC 6381), from its record, which has
// been parsed.
func codecName(c *au.Config) string {
	r := c.Record
	switch c.Codec {
	case flv.CodecAVC:
		return fmt.Sprintf("avc1.%02x%02x%02x", r[1], r[2], r[3])
	case flv.CodecHEVC:
		return hevcName(r)
	case flv.CodecAV1:
		// AV1 Codec ISO Media File Format Binding, section 5.
		depth := 8
		if r[2]&0x40 != 0 {
			depth = 10
			if r[2]&0x20 != 0 {
				depth = 12
			}
		}
		return fmt.Sprintf("av01.%d.%02d%c.%02d", r[1]>>5, r[1]&0x1f, "MH"[r[2]>>7], depth)
	case flv.CodecAAC:
		kind := int(r[0] >> 3)
		if kind == 31 && len(r) > 1 {
			kind = 32 + int(r[0]&7)<<3 + int(r[1]>>5)
		}
		return fmt.Sprintf("mp4a.40.%d", kind)
	}
	return "opus"
}

// hevcName is the name of HEVC (ISO/IEC 14496-15, annex E.3).
func hevcName(r []byte) string {
	space := []string{"", "A", "B", "C"}[r[1]>>6]
	tier := "LH"[r[1]>>5&1]
	flags := uint32(r[2])<<24 | uint32(r[3])<<16 | uint32(r[4])<<8 | uint32(r[5])
	name := fmt.Sprintf("hvc1.%s%d.%X.%c%d", space, r[1]&0x1f, bits.Reverse32(flags), tier, r[12])
	constraints := bytes.TrimRight(r[6:12], "\x00")
	for _, b := range constraints {
		name += fmt.Sprintf(".%X", b)
	}
	return name
}
