package rtpmedia

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pion/rtcp"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// A Muxer makes the packets of a stream.
type Muxer struct {
	tracks  []*muxed
	begun   bool
	from    uint32    // the first time of the stream
	wall    time.Time // when that was
	report  uint32    // time of the stream at which the latest reports were sent
	picture uint16    // number of the picture, for VP9
	room    int       // bytes of a payload at most
	name    string    // of the sender, see reports
}

// muxed is one track.
type muxed struct {
	format Format
	writer writer
	clock  clock
}

// reportEvery is the longest time between two reports, in ms of the stream.
const reportEvery = 5000

// NewMuxer makes a Muxer for these tracks, at most one of each kind.
func NewMuxer(formats []Format) *Muxer {
	m := &Muxer{room: maxPacket - headerLen, name: fmt.Sprintf("%016x", rand.Uint64())}
	for _, f := range formats {
		m.tracks = append(m.tracks, &muxed{
			format: f,
			writer: writer{channel: f.Channel, payload: f.PayloadType, ssrc: rand.Uint32(), sequence: uint16(rand.Uint32()), room: m.room},
			clock:  clock{rate: f.Clock, begin: rand.Uint32()},
		})
	}
	return m
}

// Limit sets the longest packet in bytes, its header included. Call it before Append.
func (m *Muxer) Limit(packet int) {
	m.room = packet - headerLen
	for _, t := range m.tracks {
		t.writer.room = m.room
	}
}

// Latest returns the timestamp of the newest packet of a kind, 0 without a track of it.
func (m *Muxer) Latest(video bool) uint32 {
	if t := m.track(video); t != nil {
		return t.writer.at
	}
	return 0
}

// Append appends the packets of a unit to dst. now is the clock of the reports. Before a
// key frame, or before sound where there are no pictures, come reports that join the
// tracks' clocks, so that a player has them from the beginning. An error matches
// au.ErrChanged: the unit is not what the tracks were described as. Units of other kinds of
// tracks are left out.
func (m *Muxer) Append(dst []byte, u *au.Unit, now time.Time) ([]byte, error) {
	t := m.track(u.Video)
	if t == nil {
		return dst, nil
	}
	if u.Codec != t.format.Codec {
		return dst, fmt.Errorf("%w: %v was %v", au.ErrChanged, u.Codec, t.format.Codec)
	}
	if !t.format.describes(u) {
		return dst, fmt.Errorf("%w: %v was %v", au.ErrChanged, u.Config, t.format.Config)
	}
	if !m.begun {
		m.begun, m.from, m.wall, m.report = true, u.Time, now, u.Time-reportEvery
		for _, t := range m.tracks {
			t.clock.from = u.Time
		}
	}
	since := u.Time - m.report
	if since >= reportEvery || u.Video && u.Key || since >= 1000 && m.track(true) == nil {
		m.report = u.Time
		dst = m.reports(dst, u.Time)
	}
	w := &t.writer
	w.dst = dst
	if u.Video {
		w.at = t.clock.at(u.Time + uint32(u.Offset))
		switch u.Codec {
		case flv.CodecAV1:
			w.obus(u)
		case flv.CodecVP9:
			m.picture++
			w.vp9(u, m.picture)
		default:
			w.nals(u)
		}
	} else {
		w.at = t.clock.sound(u)
		w.sound(u.Codec, t.format.Config.Channels, u.Parts[0])
	}
	dst, w.dst = w.dst, nil
	return dst, nil
}

// Bound returns how many bytes Append appends for a unit at most.
func (m *Muxer) Bound(u *au.Unit) int {
	const (
		perPacket = frameLen + headerLen + 8 // and what is before a fragment
		reports   = 2 * (frameLen + 64)
	)
	n := reports
	one := func(size int) { n += size + (size/(m.room-8)+1)*perPacket }
	for _, p := range u.Parts {
		one(len(p))
	}
	if u.Codec == flv.CodecOpus {
		n += maxOpusFrames * perPacket
	}
	if u.Key && u.Config != nil {
		for _, s := range u.Config.Sets {
			one(len(s))
		}
	}
	return n
}

func (m *Muxer) track(video bool) *muxed {
	for _, t := range m.tracks {
		if t.format.Video == video {
			return t
		}
	}
	return nil
}

// reports appends a sender report of each track (RFC 3550, section 6.4.1), with the name that is the same
// for all (section 6.5.1): by it players know whose clocks belong together, as GStreamer's do.
func (m *Muxer) reports(dst []byte, at uint32) []byte {
	wall := ntp(m.wall.Add(time.Duration(int32(at-m.from)) * time.Millisecond))
	for _, t := range m.tracks {
		dst = t.appendRTCP(dst, &rtcp.SenderReport{
			SSRC: t.writer.ssrc, NTPTime: wall, RTPTime: t.clock.at(at),
			PacketCount: t.writer.packets, OctetCount: t.writer.octets,
		}, &rtcp.SourceDescription{Chunks: []rtcp.SourceDescriptionChunk{{
			Source: t.writer.ssrc, Items: []rtcp.SourceDescriptionItem{{Type: rtcp.SDESCNAME, Text: m.name}},
		}}})
	}
	return dst
}

// Bye returns the packets that end the tracks (RFC 3550, section 6.6).
func (m *Muxer) Bye() []byte {
	var dst []byte
	for _, t := range m.tracks {
		dst = t.appendRTCP(dst, &rtcp.Goodbye{Sources: []uint32{t.writer.ssrc}})
	}
	return dst
}

// appendRTCP appends packets together.
func (t *muxed) appendRTCP(dst []byte, packets ...rtcp.Packet) []byte {
	b, err := rtcp.Marshal(packets)
	if err != nil {
		panic(fmt.Sprintf("rtpmedia: a report that cannot be written: %v", err))
	}
	return append(append(dst, '$', t.writer.channel+1, byte(len(b)>>8), byte(len(b))), b...)
}
