package tsmedia

import (
	"fmt"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg1audio"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg4audio"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/mpegts"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/mpegts/codecs"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// A Muxer makes the transport stream of a stream. At each key frame, and for sound alone
// at each frame, stand the tables that a player begins with.
type Muxer struct {
	writer       mpegts.Writer
	video, audio *mpegts.Track // nil: none
	codecs       [2]flv.FourCC
	configs      [2]*au.Config
	program      []byte // what frames of sound begin with; nil: nothing
	sounding     []byte // a frame behind it
	out          []byte
	parts        [][]byte

	timing  au.Timing
	decoded int64 // when the latest picture is, ticks
}

// New makes a Muxer for a stream with these configurations, nil for a track that there is
// not. missing are codecs that are not carried. ErrCodec: none is.
func New(video, audio *au.Config) (m *Muxer, missing []flv.FourCC, err error) {
	m = &Muxer{}
	if video != nil {
		switch video.Codec {
		case flv.CodecAVC:
			m.video = &mpegts.Track{Codec: &codecs.H264{}}
		case flv.CodecHEVC:
			m.video = &mpegts.Track{Codec: &codecs.H265{}}
		default:
			missing = append(missing, video.Codec)
		}
		m.codecs[0] = video.Codec
	}
	if audio != nil {
		if c := audioCodec(audio); c != nil {
			m.audio = &mpegts.Track{Codec: c}
		} else {
			missing = append(missing, audio.Codec)
		}
		m.codecs[1] = audio.Codec
		m.soundIs(audio)
	}
	for _, t := range []*mpegts.Track{m.video, m.audio} {
		if t != nil {
			m.writer.Tracks = append(m.writer.Tracks, t)
		}
	}
	if len(m.writer.Tracks) == 0 {
		return nil, missing, ErrCodec
	}
	m.writer.W = (*sink)(m)
	if err := m.writer.Initialize(); err != nil {
		return nil, missing, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	return m, missing, nil
}

func (m *Muxer) soundIs(c *au.Config) {
	m.configs[1], m.program = c, nil
	if c.Codec == flv.CodecAAC {
		m.program = au.AACProgramElement(c.Record)
	}
}

func audioCodec(c *au.Config) codecs.Codec {
	switch c.Codec {
	case flv.CodecAAC:
		var a mpeg4audio.AudioSpecificConfig
		if a.Unmarshal(c.Record) != nil {
			return nil
		}
		return &codecs.MPEG4Audio{Config: a}
	case flv.CodecOpus:
		if c.Channels > 2 {
			return nil
		}
		return &codecs.Opus{ChannelCount: c.Channels}
	case flv.CodecMP3:
		if c.Rate < 32000 {
			return nil // MPEG-2
		}
		return &codecs.MPEG1Audio{}
	case flv.CodecAC3:
		return &codecs.AC3{SampleRate: c.Rate, ChannelCount: c.Channels}
	}
	return nil
}

// sink collects what the library writes.
type sink Muxer

func (s *sink) Write(p []byte) (int, error) {
	s.out = append(s.out, p...)
	return len(p), nil
}

// ahead is by how much all times are later than the stream's: the clock that the library
// writes is 100 ms before the pictures.
const ahead = 90_000

// Append returns the packets of a unit, borrowed until the next call; none for a unit of a
// track that is not carried, or one that the format cannot say. Other parameters of sound
// are said in its frames. An error matches au.ErrChanged: the tables say another codec.
func (m *Muxer) Append(u *au.Unit) ([]byte, error) {
	m.out = m.out[:0]
	t, i := m.audio, 1
	if u.Video {
		t, i = m.video, 0
	}
	if t == nil {
		return nil, nil
	}
	if u.Codec != m.codecs[i] {
		return nil, fmt.Errorf("%w: %v was %v", au.ErrChanged, u.Codec, m.codecs[i])
	}
	if !u.Video && u.Config == nil {
		return nil, nil // its frame does not say what it is
	}
	if c := u.Config; !u.Video && c != m.configs[1] {
		codec := audioCodec(c)
		if codec == nil {
			return nil, fmt.Errorf("%w: %v was %v", au.ErrChanged, c, m.configs[1])
		}
		t.Codec = codec
		m.soundIs(c)
	}
	var err error
	if u.Video {
		time, offset := m.timing.Next(u.Time, u.Offset)
		dts := int64(time)*90 + ahead
		pts := dts + int64(offset)*90
		if dts <= m.decoded && dts > m.decoded-ahead {
			dts = m.decoded + 1 // each has its own
		}
		m.decoded = dts
		err = m.picture(t, u, max(pts, dts), dts)
	} else {
		err = m.sound(t, u, max(int64(u.Time)*90+ahead+int64(u.Offset)*90, 0))
	}
	if err != nil {
		return nil, nil
	}
	return m.out, nil
}

func (m *Muxer) picture(t *mpegts.Track, u *au.Unit, pts, dts int64) error {
	m.parts = m.parts[:0]
	sets := false
	for _, p := range u.Parts {
		sets = sets || au.IsSet(u.Codec, p)
	}
	if u.Key && !sets && u.Config != nil {
		m.parts = append(m.parts, u.Config.Sets...)
	}
	for i, p := range u.Parts {
		if len(p) == 0 || i == 0 && au.IsDelimiter(u.Codec, p) {
			continue // the library writes its own
		}
		m.parts = append(m.parts, p)
	}
	if len(m.parts) == 0 {
		return nil
	}
	if u.Codec == flv.CodecHEVC {
		if u.Key && !h265.IsRandomAccess(m.parts) {
			if _, err := m.writer.WriteTables(); err != nil {
				return err
			}
		}
		return m.writer.WriteH265(t, pts, dts, m.parts)
	}
	if u.Key && !h264.IsRandomAccess(m.parts) {
		if _, err := m.writer.WriteTables(); err != nil {
			return err
		}
	}
	return m.writer.WriteH264(t, pts, dts, m.parts)
}

func (m *Muxer) sound(t *mpegts.Track, u *au.Unit, pts int64) error {
	switch u.Codec {
	case flv.CodecAAC:
		frame := u.Parts[0]
		if m.program != nil && frame[0]>>5 != au.AACProgram {
			m.sounding = append(append(m.sounding[:0], m.program...), frame...)
			frame = m.sounding
		}
		return m.writer.WriteMPEG4Audio(t, pts, [][]byte{frame})
	case flv.CodecOpus:
		return m.writer.WriteOpus(t, pts, u.Parts)
	case flv.CodecMP3:
		var h mpeg1audio.FrameHeader
		if err := h.Unmarshal(u.Parts[0]); err != nil {
			return err
		}
		return m.writer.WriteMPEG1Audio(t, pts, u.Parts)
	}
	return m.writer.WriteAC3(t, pts, u.Parts[0])
}
