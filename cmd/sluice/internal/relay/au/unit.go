package au

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/flv"
)

// Errors that callers match with errors.Is.
var (
	// ErrSyntax: the bytes are not what the codec has there.
	ErrSyntax = errors.New("au: syntax error")
	// ErrCodec: a codec that this package does not know.
	ErrCodec = errors.New("au: unknown codec")
	// ErrChanged: a unit is not what its track was when a form was made of it that cannot
	// change: a description that players have, or tables.
	ErrChanged = errors.New("the stream has changed")
	// ErrBegun is ErrChanged of a track that the stream did not have then.
	ErrBegun = fmt.Errorf("%w: a track has begun", ErrChanged)
)

// A Unit is an access unit: one picture, or one frame of sound.
type Unit struct {
	Video  bool
	Codec  flv.FourCC
	Time   uint32 // when it is decoded, in ms of the stream's clock
	Offset int32  // from then to when it is shown, in ms
	Key    bool   // a picture that a decoder can start at; every frame of sound is one
	Config *Config
	// Parts are the NAL units of H.264 and HEVC, without start codes and lengths;
	// the OBUs of AV1, as they are in a file, without temporal delimiters; for other
	// codecs the frame, as one part. They are borrowed.
	Parts [][]byte
}

// Tag is the type of the tag that a unit comes from.
func (u *Unit) Tag() flv.TagType {
	if u.Video {
		return flv.TagVideo
	}
	return flv.TagAudio
}

// Size returns the number of bytes in the parts.
func (u *Unit) Size() int {
	n := 0
	for _, p := range u.Parts {
		n += len(p)
	}
	return n
}

// Bare reports whether a picture cannot be decoded for want of parameter sets: neither a sequence header has come
// nor a key frame that has them.
func (u *Unit) Bare() bool {
	return u.Config == nil && (u.Codec == flv.CodecAVC || u.Codec == flv.CodecHEVC)
}

// A Config is what a decoder has to know before the first unit. It is immutable, and
// another one when something has changed.
type Config struct {
	Codec flv.FourCC
	// Record is the body of the sequence header: avcC, hvcC, av1C, vpcC, an
	// AudioSpecificConfig, an OpusHead, FLAC's streaminfo. It is empty for codecs
	// without one.
	Record []byte
	// Sets are the parameter sets of H.264 and HEVC and the sequence header of AV1,
	// in the order in which a decoder needs them.
	Sets [][]byte
	// Rate and Channels are those of sound, in Hz. FrameLen is how many samples a
	// frame has; 0: each says itself.
	Rate, Channels, FrameLen int
	// Width and Height are those of the picture from which the configuration of VP9 was
	// made, which does not say them: 0 for other codecs.
	Width, Height int

	lengthSize int // bytes of the lengths before NAL units
}

// Equal reports whether a decoder of c need not begin again for o.
func (c *Config) Equal(o *Config) bool {
	return c == o || o != nil && c.Codec == o.Codec && c.Rate == o.Rate && c.Channels == o.Channels && bytes.Equal(c.Record, o.Record)
}

// String is what a person calls the codec and its parameters.
func (c *Config) String() string {
	if c.Rate == 0 {
		return c.Codec.String()
	}
	return fmt.Sprintf("%v of %d Hz with %d channels", c.Codec, c.Rate, c.Channels)
}

// Duration returns how long the frame of sound p is, borrowed until it returns; 0 when
// that is not known.
func (c *Config) Duration(p []byte) time.Duration {
	if c.Rate == 0 {
		return 0
	}
	return time.Duration(c.Samples(p)) * time.Second / time.Duration(c.Rate)
}
