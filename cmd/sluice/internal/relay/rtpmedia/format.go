package rtpmedia

import (
	"errors"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// Errors that callers match with errors.Is.
var (
	// ErrSyntax: a description or a packet that is not what its format says.
	ErrSyntax = errors.New("rtpmedia: syntax error")
	// ErrCodec: a codec that RTP, or FLV, has no form for here.
	ErrCodec = errors.New("rtpmedia: codec not carried")
	// ErrTooLong: an access unit is longer than the limit.
	ErrTooLong = errors.New("rtpmedia: access unit too long")
)

// A Format is how a track is sent in RTP.
type Format struct {
	Video       bool
	Codec       flv.FourCC
	PayloadType uint8
	Clock       int        // ticks a second of the timestamps
	Config      *au.Config // of sound always; of pictures when it is known beforehand
	Channel     uint8      // for RTP; the next one is for RTCP
	Control     string     // of the description: the track's URL, or what is appended to the stream's

	// Bits of AAC's headers of access units (RFC 3640, section 3.2.1).
	sizeBits, indexBits, deltaBits int
	latm                           bool // AAC as MP4A-LATM (RFC 6416), from publishers only
}

// videoClock is the clock of all video formats here (RFC 6184, section 8.2.1, and
// likewise).
const videoClock = 90000

// NewFormat returns the format in which units with this configuration are sent. An
// error matches ErrCodec.
func NewFormat(c *au.Config) (Format, error) {
	f := Format{Codec: c.Codec, Config: c, Clock: c.Rate}
	switch c.Codec {
	case flv.CodecAVC, flv.CodecHEVC, flv.CodecAV1, flv.CodecVP9:
		f.Video, f.PayloadType, f.Clock = true, 96, videoClock
	case flv.CodecAAC:
		f.PayloadType, f.sizeBits, f.indexBits, f.deltaBits = 97, 13, 3, 3
	case flv.CodecOpus, flv.CodecAC3:
		if c.Codec == flv.CodecOpus && c.Channels > maxOpusChannels {
			return Format{}, &codecError{c.Codec}
		}
		f.PayloadType = 97
	case flv.CodecMP3:
		f.PayloadType, f.Clock = 14, videoClock // RFC 3551, section 4.5.13
	case flv.CodecALaw:
		f.PayloadType = 8
	case flv.CodecMuLaw:
		f.PayloadType = 0
	default:
		return Format{}, &codecError{c.Codec}
	}
	if f.Codec != flv.CodecMP3 && (f.Codec == flv.CodecALaw || f.Codec == flv.CodecMuLaw) && c.Channels != 1 {
		f.PayloadType = 97
	}
	if f.Clock <= 0 {
		return Format{}, &codecError{c.Codec}
	}
	return f, nil
}

// describes reports whether a unit of the format's codec is what the format says. Frames
// of Opus and MP3 say themselves what they are, but for Opus of more than two channels.
func (f *Format) describes(u *au.Unit) bool {
	switch {
	case u.Video || u.Config == nil || f.Codec == flv.CodecMP3:
		return true
	case f.Codec == flv.CodecOpus:
		return u.Config.Channels <= maxOpusChannels
	}
	return u.Config.Rate == f.Config.Rate && u.Config.Channels == f.Config.Channels
}

type codecError struct{ codec flv.FourCC }

func (e *codecError) Error() string { return ErrCodec.Error() + ": " + e.codec.String() }
func (e *codecError) Unwrap() error { return ErrCodec }
