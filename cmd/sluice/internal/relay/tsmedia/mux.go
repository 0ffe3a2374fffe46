package tsmedia

import (
	"fmt"
	"slices"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg4audio"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/mpegts/substructs"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// A Muxer makes the transport stream of a stream. At each key frame, and for sound alone
// at each frame, stand the tables that a player begins with. A track that comes later stands
// in them from then on.
type Muxer struct {
	// LeftOut, unless it is nil, is called with the codec of a track that comes later, or has changed, and is
	// not carried: once in a row.
	LeftOut func(flv.FourCC)

	packets      *packets
	video, audio *muxed        // nil: none
	left         [2]flv.FourCC // of pictures, of sound, that are not carried; 0: none
	frame        []byte        // of sound, with what stands before it
	parts        [][]byte

	timing  au.Timing
	decoded int64 // when the latest picture is, ticks
}

// muxed is a track that is carried.
type muxed struct {
	pid     uint16
	config  *au.Config
	adts    mpeg4audio.ADTSPacket // what the headers of AAC say
	program []byte                // what frames of AAC begin with; nil: nothing
}

// New makes a Muxer for a stream with these configurations, nil for a track that there is
// not, or not yet. missing are codecs that are not carried. ErrCodec: none is.
func New(video, audio *au.Config) (m *Muxer, missing []flv.FourCC, err error) {
	m = &Muxer{packets: newPackets()}
	for i, c := range []*au.Config{video, audio} {
		if c == nil {
			continue
		}
		if err := m.add(c, i == 0); err != nil {
			return nil, missing, fmt.Errorf("%w: %w", ErrCodec, err)
		}
		if m.left[i] != 0 {
			missing = append(missing, c.Codec)
		}
	}
	if m.video == nil && m.audio == nil {
		return nil, missing, ErrCodec
	}
	return m, missing, nil
}

// add adds a track, if it can be carried.
func (m *Muxer) add(c *au.Config, video bool) error {
	slot, left := &m.audio, &m.left[1]
	if video {
		slot, left = &m.video, &m.left[0]
	}
	entry := entryOf(c)
	if entry == nil {
		*left = c.Codec
		return nil
	}
	pid, err := m.packets.add(entry)
	if err != nil {
		return err
	}
	*slot, *left = &muxed{pid: pid}, 0
	(*slot).is(c)
	return nil
}

// is takes the configuration of a track, which its tables fit.
func (t *muxed) is(c *au.Config) {
	t.config, t.program = c, nil
	if c.Codec == flv.CodecAAC {
		t.adts, _ = adtsOf(c)
		t.program = au.AACProgramElement(c.Record)
	}
}

// adtsOf returns what the headers of frames of AAC say.
func adtsOf(c *au.Config) (p mpeg4audio.ADTSPacket, ok bool) {
	var a mpeg4audio.AudioSpecificConfig
	if a.Unmarshal(c.Record) != nil {
		return p, false
	}
	return mpeg4audio.ADTSPacket{Type: a.Type, SampleRate: a.SampleRate, ChannelConfig: a.ChannelConfig}, true
}

// ahead is by how much all times are later than the stream's: the clock that packets have
// is 100 ms before the pictures.
const ahead = 90_000

// Append returns the packets of a unit, borrowed until the next call; none for a unit of a
// track that is not carried, or one that the format cannot say. Other parameters of sound
// are said in its frames. An error matches au.ErrChanged: the tables say another codec, and players
// go by what they said of a track at first. VLC and GStreamer's playbin take tables that change, but ffmpeg, mpv and playbin3
// go on without sound, under the old PID or another one: one that comes again has all.
func (m *Muxer) Append(u *au.Unit) ([]byte, error) {
	m.packets.out = m.packets.out[:0]
	t, err := m.trackOf(u)
	if t == nil || err != nil {
		return nil, err
	}
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
	return m.packets.out, nil
}

// trackOf returns the track of a unit, which is added when there was none; nil when it is not carried.
func (m *Muxer) trackOf(u *au.Unit) (*muxed, error) {
	t, left := m.audio, m.left[1]
	if u.Video {
		t, left = m.video, m.left[0]
	}
	c := u.Config
	switch {
	case t != nil && u.Codec != t.config.Codec:
		return nil, fmt.Errorf("%w: %v was %v", au.ErrChanged, u.Codec, t.config.Codec)
	case c == nil && !u.Video:
		return nil, nil // its frame does not say what it is
	case c == nil:
		c = &au.Config{Codec: u.Codec}
	}
	switch {
	case t == nil && (left == u.Codec || u.Video && !u.Key):
		return nil, nil
	case t == nil:
		return m.later(c, u.Video)
	case !u.Video && c != t.config:
		if entryOf(c) == nil {
			return nil, fmt.Errorf("%w: %v was %v", au.ErrChanged, c, t.config)
		}
		t.is(c)
	}
	return t, nil
}

// later adds a track that was not there before.
func (m *Muxer) later(c *au.Config, video bool) (*muxed, error) {
	if err := m.add(c, video); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	t := m.audio
	if video {
		t = m.video
	}
	if t == nil && m.LeftOut != nil {
		m.LeftOut(c.Codec)
	}
	return t, nil
}

func (m *Muxer) picture(t *muxed, u *au.Unit, pts, dts int64) error {
	delimiter := []byte{9, 0xf0}
	if u.Codec == flv.CodecHEVC {
		delimiter = []byte{35 << 1, 1, 0x50}
	}
	m.parts = append(m.parts[:0], delimiter) // players of Apple require one
	sets := false
	for _, p := range u.Parts {
		sets = sets || au.IsSet(u.Codec, p)
	}
	if u.Key && !sets && u.Config != nil {
		m.parts = append(m.parts, u.Config.Sets...)
	}
	for i, p := range u.Parts {
		if len(p) > 0 && (i > 0 || !au.IsDelimiter(u.Codec, p)) {
			m.parts = append(m.parts, p)
		}
	}
	if len(m.parts) == 1 {
		return nil
	}
	data, err := h264.AnnexB(m.parts).Marshal()
	if err != nil {
		return err
	}
	return m.packets.write(load{t.pid, videoStream, pts, dts, u.Key, data})
}

func (m *Muxer) sound(t *muxed, u *au.Unit, pts int64) error {
	data, err := u.Parts[0], error(nil)
	switch u.Codec {
	case flv.CodecAAC:
		if t.program != nil && data[0]>>5 != au.AACProgram {
			m.frame = append(append(m.frame[:0], t.program...), data...)
			data = m.frame
		}
		p := t.adts
		p.AU = data
		data, err = mpeg4audio.ADTSPackets{&p}.Marshal()
	case flv.CodecOpus:
		o := substructs.OpusAccessUnit{ControlHeader: substructs.OpusControlHeader{PayloadSize: len(data)}, Packet: data}
		m.frame = slices.Grow(m.frame[:0], o.MarshalSize())[:o.MarshalSize()]
		_, err = o.MarshalTo(m.frame)
		data = m.frame
	}
	if err != nil {
		return err
	}
	return m.packets.write(load{t.pid, audioStream, pts, pts, m.video == nil, data})
}
