package mp4

import (
	"bytes"
	"fmt"

	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/mp4/codecs"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// A TrackConfig is what a file says of one of its tracks.
type TrackConfig struct {
	ID     uint32
	Scale  uint32 // ticks a second
	Video  bool
	Config *au.Config // with the codec; VP9's has no record, each key frame says it
}

// Configs reads the tracks of the header of a file of this package, borrowed until it
// returns. Tracks of codecs that it does not know are left out. An error matches
// ErrSyntax.
func Configs(header []byte) ([]TrackConfig, error) {
	var in fmp4.Init
	if err := in.Unmarshal(bytes.NewReader(header)); err != nil {
		return nil, fmt.Errorf("%w: the header: %w", ErrSyntax, err)
	}
	var list []TrackConfig
	for _, t := range in.Tracks {
		c, err := configOf(t.Codec)
		if err != nil {
			return nil, fmt.Errorf("%w: track %d: %w", ErrSyntax, t.ID, err)
		}
		if c != nil && t.TimeScale > 0 {
			list = append(list, TrackConfig{ID: uint32(t.ID), Scale: t.TimeScale, Video: t.Codec.IsVideo(), Config: c})
		}
	}
	return list, nil
}

// configOf is nil for a codec that this package does not write.
func configOf(codec codecs.Codec) (*au.Config, error) {
	switch c := codec.(type) {
	case *codecs.H264:
		return au.NewVideoConfig(flv.CodecAVC, [][]byte{c.SPS, c.PPS})
	case *codecs.H265:
		return au.NewVideoConfig(flv.CodecHEVC, [][]byte{c.VPS, c.SPS, c.PPS})
	case *codecs.AV1:
		// With its size, as it is in a stream.
		if len(c.SequenceHeader) < 2 {
			return nil, fmt.Errorf("a sequence header of %d bytes", len(c.SequenceHeader))
		}
		obu := c.SequenceHeader
		if obu[0]&2 == 0 {
			sized := append([]byte{obu[0] | 2}, size128(len(obu)-1)...)
			obu = append(sized, obu[1:]...)
		}
		return au.NewAV1Config(obu)
	case *codecs.VP9:
		return &au.Config{Codec: flv.CodecVP9}, nil
	case *codecs.MPEG4Audio:
		record, err := c.Config.Marshal()
		if err != nil {
			return nil, err
		}
		return au.NewAACConfig(record)
	case *codecs.Opus:
		return au.NewOpusConfig(c.ChannelCount), nil
	case *codecs.MPEG1Audio:
		return au.NewPlainConfig(flv.CodecMP3, c.SampleRate, c.ChannelCount), nil
	case *codecs.AC3:
		return au.NewPlainConfig(flv.CodecAC3, c.SampleRate, c.ChannelCount), nil
	case *codecs.FLAC:
		info, err := c.StreamInfo.Marshal()
		if err != nil {
			return nil, err
		}
		// The only block of the metadata, and so the last (RFC 9639, section 8.1).
		return au.ParseConfig(flv.CodecFLAC, append([]byte{'f', 'L', 'a', 'C', 0x80, 0, 0, byte(len(info))}, info...))
	}
	return nil, nil
}

// size128 is a number in seven bits a byte (AV1, section 4.10.5).
func size128(n int) (p []byte) {
	for ; n >= 0x80; n >>= 7 {
		p = append(p, byte(n)|0x80)
	}
	return append(p, byte(n))
}
