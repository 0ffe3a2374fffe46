//go:build linux

package realtest

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
)

// rtpMTU is the longest payload that is sent here.
const rtpMTU = 1100

// rtpClock is the ticks a second of a track's timestamps.
func (m *mediaTrack) rtpClock() int {
	switch m.codec {
	case "h264", "hevc", "av1", "vp9", "mp3":
		return 90000
	}
	return m.rate
}

// rtpNames are the codecs that have a form in RTP.
var rtpNames = map[string]string{
	"h264": "H264/90000", "hevc": "H265/90000", "av1": "AV1/90000", "vp9": "VP9/90000", "aac": "mpeg4-generic/%d/%d", "opus": "opus/48000/2",
	"mp3": "MPA/90000", "ac3": "AC3/%d/%d", "pcm_alaw": "PCMA/8000", "pcm_mulaw": "PCMU/8000",
}

// rtpType is the payload type of a track that is published.
func (m *mediaTrack) rtpType(video bool) uint8 {
	switch {
	case video:
		return 96
	case m.codec == "mp3":
		return 14
	case m.codec == "pcm_alaw":
		return 8
	case m.codec == "pcm_mulaw":
		return 0
	}
	return 97
}

// describe returns the lines of a session description for a track.
func (m *mediaTrack) describe(video bool, control string) string {
	kind := "audio"
	if video {
		kind = "video"
	}
	number := m.rtpType(video)
	name := rtpNames[m.codec]
	if strings.Contains(name, "%d") {
		name = fmt.Sprintf(name, m.rate, m.channels)
	}
	text := fmt.Sprintf("m=%s 0 RTP/AVP %d\r\na=rtpmap:%d %s\r\n", kind, number, number, name)
	switch m.codec {
	case "h264":
		var sets []string
		for _, p := range avcSets(m.config) {
			sets = append(sets, base64.StdEncoding.EncodeToString(p))
		}
		text += fmt.Sprintf("a=fmtp:%d packetization-mode=1; sprop-parameter-sets=%s\r\n", number, strings.Join(sets, ","))
	case "aac":
		text += fmt.Sprintf("a=fmtp:%d streamtype=5; profile-level-id=1; mode=AAC-hbr; sizelength=13; indexlength=3; indexdeltalength=3; config=%x\r\n", number, m.config)
	case "opus":
		text += fmt.Sprintf("a=fmtp:%d sprop-stereo=1\r\n", number)
	}
	return text + "a=control:" + control + "\r\n"
}

// avcSets are the parameter sets in a record of H.264 with one of each kind.
func avcSets(record []byte) (sets [][]byte) {
	p := record[6:]
	for range 2 {
		n := int(binary.BigEndian.Uint16(p))
		sets, p = append(sets, p[2:2+n]), p[2+n:]
		if len(p) > 0 {
			p = p[1:]
		}
	}
	return sets
}

// hevcSets are the parameter sets in a record of HEVC.
func hevcSets(record []byte) (sets [][]byte) {
	p := record[23:]
	for range record[22] {
		count := int(binary.BigEndian.Uint16(p[1:]))
		kind := p[0] & 0x3f
		p = p[3:]
		for range count {
			n := int(binary.BigEndian.Uint16(p))
			if kind >= 32 && kind <= 34 {
				sets = append(sets, p[2:2+n])
			}
			p = p[2+n:]
		}
	}
	return sets
}

// whole is a picture as it is given to the packetizers: H.264 and HEVC with start codes,
// parameter sets before key frames.
func (m *mediaTrack) whole(u *mediaUnit) []byte {
	var sets [][]byte
	switch m.codec {
	case "h264":
		sets = avcSets(m.config)
	case "hevc":
		sets = hevcSets(m.config)
	default:
		return u.data
	}
	var list [][]byte
	if u.key {
		list = sets
	}
	var p []byte
	for _, n := range append(slices.Clone(list), nals(u.data)...) {
		p = append(append(p, 0, 0, 0, 1), n...)
	}
	return p
}

// An rtpSender makes the packets of a track, by the library's packetizers where it has
// them.
type rtpSender struct {
	track    *mediaTrack
	kind     uint8
	ssrc     uint32
	sequence uint16
	base     uint32
	payload  rtp.Payloader
}

func newRTPSender(m *mediaTrack, video bool, ssrc uint32) *rtpSender {
	s := &rtpSender{track: m, kind: m.rtpType(video), ssrc: ssrc, sequence: 65500, base: ssrc * 77777}
	switch m.codec {
	case "h264":
		s.payload = &codecs.H264Payloader{}
	case "hevc":
		s.payload = &codecs.H265Payloader{}
	case "av1":
		s.payload = &codecs.AV1Payloader{}
	case "vp9":
		s.payload = &codecs.VP9Payloader{FlexibleMode: true}
	case "opus":
		s.payload = &codecs.OpusPayloader{}
	case "pcm_alaw", "pcm_mulaw":
		s.payload = &codecs.G711Payloader{}
	default:
		s.payload = soundPayloader(m.codec)
	}
	return s
}

// soundPayloader writes AAC (RFC 3640), MP3 (RFC 2250) and AC-3 (RFC 4184), a frame each.
type soundPayloader string

func (s soundPayloader) Payload(_ uint16, frame []byte) [][]byte {
	switch s {
	case "aac":
		return [][]byte{append([]byte{0, 16, byte(len(frame) >> 5), byte(len(frame) << 3)}, frame...)}
	case "mp3":
		return [][]byte{append([]byte{0, 0, 0, 0}, frame...)}
	default:
		return [][]byte{append([]byte{0, 1}, frame...)}
	}
}

// packets are those of a unit.
func (s *rtpSender) packets(u *mediaUnit) (list []*rtp.Packet) {
	at := s.stamp(u.shown)
	parts := s.payload.Payload(rtpMTU, s.track.whole(u))
	for i, p := range parts {
		list = append(list, &rtp.Packet{Header: rtp.Header{Version: 2, PayloadType: s.kind, SequenceNumber: s.sequence, Timestamp: at, SSRC: s.ssrc, Marker: i == len(parts)-1 || s.kind == 97}, Payload: p})
		s.sequence++
		if s.track.codec == "pcm_alaw" || s.track.codec == "pcm_mulaw" {
			at += uint32(len(p))
		}
	}
	return list
}

// stamp is the timestamp of a time, of any of which there is but one.
func (s *rtpSender) stamp(at time.Duration) uint32 {
	return s.base + uint32((at*time.Duration(s.track.rtpClock())+time.Second/2)/time.Second)
}

// report says which timestamp is now, which is the same moment for all tracks.
func (s *rtpSender) report(at time.Duration) *rtcp.SenderReport {
	const began = 3_900_000_000 // seconds from 1900
	wall := uint64(began+int64(at/time.Second))<<32 | uint64(at%time.Second)<<32/uint64(time.Second)
	return &rtcp.SenderReport{SSRC: s.ssrc, NTPTime: wall, RTPTime: s.stamp(at)}
}

// An rtpReceived is what has come of a track; safe for concurrent use.
type rtpReceived struct {
	mu      sync.Mutex
	codec   string
	clock   int
	packets []*rtp.Packet
	report  *rtcp.SenderReport // the first
}

func (r *rtpReceived) rtp(p []byte) {
	var one rtp.Packet
	if one.Unmarshal(slices.Clone(p)) == nil {
		r.packet(&one)
	}
}

func (r *rtpReceived) packet(p *rtp.Packet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.packets = append(r.packets, p)
}

func (r *rtpReceived) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.packets)
}

func (r *rtpReceived) rtcp(p []byte) {
	list, err := rtcp.Unmarshal(p)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range list {
		if s, ok := one.(*rtcp.SenderReport); ok && r.report == nil {
			r.report = s
		}
	}
}

// played puts units together.
func (r *rtpReceived) played() ([]played, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.packets) == 0 {
		return nil, nil
	}
	if r.report == nil {
		return nil, errors.New("no sender report")
	}
	first := r.packets[0].SequenceNumber
	slices.SortStableFunc(r.packets, func(a, b *rtp.Packet) int {
		return int(int16(a.SequenceNumber-first)) - int(int16(b.SequenceNumber-first))
	})
	r.packets = slices.CompactFunc(r.packets, func(a, b *rtp.Packet) bool { return a.SequenceNumber == b.SequenceNumber })
	wall := time.Duration(r.report.NTPTime>>32)*time.Second + time.Duration((r.report.NTPTime&0xffffffff)*1e9>>32)
	var list []played
	var depacketizer rtp.Depacketizer
	switch r.codec {
	case "h264":
		depacketizer = &codecs.H264Packet{}
	case "hevc":
		depacketizer = &codecs.H265Depacketizer{}
	case "av1":
		depacketizer = &codecs.AV1Depacketizer{}
	case "vp9":
		depacketizer = &codecs.VP9Packet{}
	}
	add := func(timestamp uint32, data []byte) {
		at := wall + time.Duration(int32(timestamp-r.report.RTPTime))*time.Second/time.Duration(r.clock)
		if sum := sumOf(r.codec, data); sum != "" {
			list = append(list, played{at, sum})
		}
	}
	var unit []byte
	for i, p := range r.packets {
		if i > 0 && p.SequenceNumber != r.packets[i-1].SequenceNumber+1 {
			return nil, fmt.Errorf("packets between %d and %d are missing", r.packets[i-1].SequenceNumber, p.SequenceNumber)
		}
		if len(p.Payload) == 0 {
			continue // padding, with which bandwidth is probed
		}
		if depacketizer != nil {
			part, err := depacketizer.Unmarshal(p.Payload)
			if err != nil {
				return nil, fmt.Errorf("packet %d: %w", i, err)
			}
			unit = append(unit, part...)
			if i+1 == len(r.packets) || r.packets[i+1].Timestamp != p.Timestamp {
				if !p.Marker {
					return nil, fmt.Errorf("a picture without a marker on its last packet")
				}
				add(p.Timestamp, unit)
				unit = nil
			}
			continue
		}
		switch r.codec {
		case "aac":
			n := int(binary.BigEndian.Uint16(p.Payload)) / 16
			data := p.Payload[2+2*n:]
			for k := range n {
				size := int(binary.BigEndian.Uint16(p.Payload[2+2*k:]) >> 3)
				if size > len(data) {
					return nil, errors.New("a frame of AAC in several packets")
				}
				add(p.Timestamp+uint32(1024*k), data[:size])
				data = data[size:]
			}
		case "mp3":
			add(p.Timestamp, p.Payload[4:])
		case "ac3":
			if p.Payload[0]&3 != 0 || p.Payload[1] != 1 {
				return nil, fmt.Errorf("AC-3 with header %x", p.Payload[:2])
			}
			add(p.Timestamp, p.Payload[2:])
		default:
			add(p.Timestamp, p.Payload)
		}
	}
	return list, nil
}
