package mp4

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/ac3"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/flac"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg4audio"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/vp9"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4/seekablebuffer"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/mp4/codecs"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// Errors that callers match with errors.Is.
var (
	// ErrCodec: a codec that has no form in MP4 here.
	ErrCodec = errors.New("mp4: codec not carried")
	// ErrSyntax: bytes that are not what a file of this package has there.
	ErrSyntax = errors.New("mp4: syntax error")
)

// A Track is one of a file.
type Track struct {
	ID    uint32 // from 1
	Video bool
	Scale uint32 // ticks a second

	config *au.Config
	codec  codecs.Codec // what the library takes for it
	record []byte       // what stands in place of what the library writes; see describe
}

// maxOpusChannels is how many channels Opus has at most: the library does not write how
// more of them are mapped to streams (RFC 7845, section 5.1.1).
const maxOpusChannels = 2

// videoScale is a multiple of the milliseconds that streams have.
const videoScale = 90_000

// NewTrack returns the track for units like u, a key frame if it is a picture. An error
// matches ErrCodec or ErrSyntax.
func NewTrack(id uint32, u *au.Unit) (Track, error) {
	c := u.Config
	if c == nil {
		return Track{}, fmt.Errorf("%w: %v without a configuration", ErrCodec, u.Codec)
	}
	t := Track{ID: id, Video: u.Video, config: c}
	var err error
	switch u.Codec {
	case flv.CodecVP9:
		t.codec, err = vp9Codec(u.Parts[0])
	case flv.CodecAC3:
		t.codec, err = ac3Codec(c, u.Parts[0])
	default:
		return ConfigTrack(id, u.Video, c)
	}
	return t.checked(err)
}

// ConfigTrack returns the track for units with a configuration, of a codec whose frames need not be looked
// at: of all that NewTrack takes but VP9 and AC-3. An error matches ErrCodec or ErrSyntax.
func ConfigTrack(id uint32, video bool, c *au.Config) (Track, error) {
	t := Track{ID: id, Video: video, config: c}
	var err error
	if t.codec, err = SampleEntry(c); err == nil {
		switch c.Codec {
		case flv.CodecAVC, flv.CodecHEVC:
			// Not the stream's own record: units have lengths of 4 bytes in a file.
			var own *au.Config
			if own, err = au.NewVideoConfig(c.Codec, c.Sets); err == nil {
				t.record = own.Record
			}
		case flv.CodecAAC:
			t.record = descriptorOf(id, c.Record)
		}
	}
	return t.checked(err)
}

// checked returns the track, unless there was an error, or will be.
func (t Track) checked(err error) (Track, error) {
	if errors.Is(err, ErrCodec) {
		return t, err
	}
	t.Scale = videoScale
	if !t.Video {
		t.Scale = uint32(t.config.Rate)
	}
	if err == nil && t.Scale == 0 {
		err = errors.New("no sample rate")
	}
	if err == nil {
		// The library looks at some parameters only when it writes them.
		_, err = Front([]Track{t})
	}
	if err != nil {
		return t, fmt.Errorf("%w: %v: %w", ErrSyntax, t.config.Codec, err)
	}
	return t, nil
}

// Fits reports whether what a header says of t holds for u, whose configuration is the same: key
// frames of VP9 say their size themselves.
func (t *Track) Fits(u *au.Unit) bool {
	said, is := t.codec.(*codecs.VP9)
	if !is || !u.Key {
		return true
	}
	now, err := vp9Codec(u.Parts[0])
	return err != nil || *now == *said
}

// SampleEntry returns what a header says of a track whose frames need not be looked at: of all
// codecs that NewTrack takes but VP9 and AC-3. An error matches ErrCodec, or is of the parameters.
func SampleEntry(c *au.Config) (codecs.Codec, error) {
	switch c.Codec {
	case flv.CodecAVC:
		return avcCodec(c)
	case flv.CodecHEVC:
		return hevcCodec(c)
	case flv.CodecAV1:
		plain, err := c.PlainSequence()
		return &codecs.AV1{SequenceHeader: plain}, err
	case flv.CodecAAC:
		// What is put into its place says the rest; see describe.
		return &codecs.MPEG4Audio{Config: mpeg4audio.AudioSpecificConfig{Type: mpeg4audio.ObjectTypeAACLC, SampleRate: c.Rate, ChannelConfig: soundChannels(c.Channels)}}, nil
	case flv.CodecOpus:
		if c.Channels > maxOpusChannels {
			return nil, fmt.Errorf("%w: %v of %d channels", ErrCodec, c.Codec, c.Channels)
		}
		return &codecs.Opus{ChannelCount: max(c.Channels, 1)}, nil
	case flv.CodecMP3:
		return &codecs.MPEG1Audio{SampleRate: c.Rate, ChannelCount: c.Channels}, nil
	case flv.CodecFLAC:
		return flacCodec(c)
	}
	return nil, fmt.Errorf("%w: %v", ErrCodec, c.Codec)
}

// soundChannels is what the library takes for so many channels, of which it knows 1 to 6 and 8: the field
// is a hint (ISO/IEC 14496-12, section 12.2.3), and the usual 2 for others.
func soundChannels(n int) uint8 {
	switch {
	case n >= 1 && n <= 6:
		return uint8(n)
	case n == 8:
		return 7
	}
	return 2
}

func avcCodec(c *au.Config) (codecs.Codec, error) {
	x := &codecs.H264{}
	for _, s := range c.Sets {
		switch set := s; au.NALType(c.Codec, set) {
		case 7:
			x.SPS = first(x.SPS, set)
		case 8:
			x.PPS = first(x.PPS, set)
		}
	}
	if x.SPS == nil || x.PPS == nil {
		return nil, errors.New("a parameter set is missing")
	}
	return x, nil
}

func hevcCodec(c *au.Config) (codecs.Codec, error) {
	x := &codecs.H265{}
	for _, s := range c.Sets {
		switch set := s; au.NALType(c.Codec, set) {
		case 32:
			x.VPS = first(x.VPS, set)
		case 33:
			x.SPS = first(x.SPS, set)
		case 34:
			x.PPS = first(x.PPS, set)
		}
	}
	if x.VPS == nil || x.SPS == nil || x.PPS == nil {
		return nil, errors.New("a parameter set is missing")
	}
	return x, nil
}

func first(have, set []byte) []byte {
	if have != nil {
		return have
	}
	return set
}

func vp9Codec(frame []byte) (*codecs.VP9, error) {
	var h vp9.Header
	if err := h.Unmarshal(frame); err != nil {
		return nil, err
	}
	if h.ColorConfig == nil {
		return nil, errors.New("not a key frame")
	}
	return &codecs.VP9{
		Width: h.Width(), Height: h.Height(), Profile: h.Profile, BitDepth: h.ColorConfig.BitDepth,
		ChromaSubsampling: h.ChromaSubsampling(), ColorRange: h.ColorConfig.ColorRange,
	}, nil
}

func ac3Codec(c *au.Config, frame []byte) (codecs.Codec, error) {
	var b ac3.BSI
	if len(frame) < 7 {
		return nil, errors.New("a short frame")
	}
	if err := b.Unmarshal(frame[5:]); err != nil {
		return nil, err
	}
	return &codecs.AC3{
		SampleRate: c.Rate, ChannelCount: c.Channels, Bsid: b.Bsid, Bsmod: b.Bsmod, Acmod: b.Acmod, LfeOn: b.LfeOn,
		BitRateCode: frame[4] & 0x3f >> 1, // ATSC A/52, annex F.4: frmsizecod without its last bit
	}, nil
}

func flacCodec(c *au.Config) (codecs.Codec, error) {
	p := bytes.TrimPrefix(c.Record, []byte("fLaC"))
	const blockHeader, infoLen = 4, 34
	if len(p) >= blockHeader+infoLen {
		p = p[blockHeader:]
	}
	s := &flac.StreamInfo{}
	if err := s.Unmarshal(p); err != nil {
		return nil, err
	}
	return &codecs.FLAC{StreamInfo: s}, nil
}

// Front returns what a movie in fragments begins with that has these tracks, at most one of each kind. An
// error matches ErrCodec.
func Front(tracks []Track) ([]byte, error) {
	var i fmp4.Init
	for _, t := range tracks {
		i.Tracks = append(i.Tracks, &fmp4.InitTrack{ID: int(t.ID), TimeScale: t.Scale, Codec: t.codec})
	}
	var b seekablebuffer.Buffer
	if err := i.Marshal(&b); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	return withRecords(b.Bytes(), tracks), nil
}

// Header returns the front of a file with these tracks, at most one of each kind, and
// where in it the duration is: PutDuration's bytes go there when the file has ended.
func Header(tracks []Track) (header []byte, durationAt int, err error) {
	p, err := Front(tracks)
	if err != nil {
		return nil, 0, err
	}
	// The library leaves out mehd (section 8.8.2), which says how long the file is.
	moov, ok := find(p, "moov")
	if !ok {
		return nil, 0, fmt.Errorf("%w: a header without moov", ErrSyntax)
	}
	mvex, ok := find(p[moov+boxHead:], "mvex")
	if !ok {
		return nil, 0, fmt.Errorf("%w: a header without mvex", ErrSyntax)
	}
	mvex += moov + boxHead
	const mehdLen = boxHead + 4 + 8
	out := append([]byte(nil), p[:mvex+boxHead]...)
	out = append(binary.BigEndian.AppendUint32(out, mehdLen), "mehd\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	out = append(out, p[mvex+boxHead:]...)
	for _, at := range []int{moov, mvex} {
		binary.BigEndian.PutUint32(out[at:], binary.BigEndian.Uint32(out[at:])+mehdLen)
	}
	return out, mvex + boxHead + boxHead + 4, nil
}

// PutDuration returns what is written where Header says.
func PutDuration(d time.Duration) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(max(d, 0)/time.Millisecond))
}
