//go:build linux

package realtest

import (
	"encoding/binary"
	"fmt"
	"time"
)

// fourCCs are the codecs that have a name in enhanced RTMP (version 2), by ffmpeg's names.
var fourCCs = map[string]string{"hevc": "hvc1", "av1": "av01", "vp9": "vp09", "opus": "Opus", "flac": "fLaC", "ac3": "ac-3"}

// soundBytes are the first bytes of sound with a number in FLV.
var soundBytes = map[string]byte{"aac": 0xaf, "mp3": 0x2f, "pcm_alaw": 0x72, "pcm_mulaw": 0x82}

func inMS(d time.Duration) int { return int(d.Round(time.Millisecond) / time.Millisecond) }

// flvTags are a source as FLV has it, in the order of their times.
func (s *mediaSource) flvTags() []tag {
	var tags []tag
	for _, m := range []*mediaTrack{s.video, s.audio} {
		if m != nil && len(m.config) > 0 {
			tags = append(tags, m.flvTag(m == s.video, nil))
		}
	}
	s.inOrder(func(video bool, u *mediaUnit) {
		m := s.audio
		if video {
			m = s.video
		}
		tags = append(tags, m.flvTag(video, u))
	})
	return tags
}

// inOrder calls f with all units, in the order of the times at which they are decoded.
func (s *mediaSource) inOrder(f func(video bool, u *mediaUnit)) {
	var video, audio []mediaUnit
	if s.video != nil {
		video = s.video.units
	}
	if s.audio != nil {
		audio = s.audio.units
	}
	for len(video)+len(audio) > 0 {
		if len(audio) == 0 || len(video) > 0 && video[0].decoded <= audio[0].decoded {
			f(true, &video[0])
			video = video[1:]
		} else {
			f(false, &audio[0])
			audio = audio[1:]
		}
	}
}

// sourceLead is added to all times: pictures may be decoded before 0.
const sourceLead = 200 * time.Millisecond

// flvTag is a unit as a tag; the sequence header for nil.
func (m *mediaTrack) flvTag(video bool, u *mediaUnit) tag {
	four, named := fourCCs[m.codec]
	g := tag{Type: tagAudio}
	body, packet := m.config, byte(0)
	offset := 0
	frame := byte(1)
	if u != nil {
		g.Time = uint32(inMS(u.decoded + sourceLead))
		offset = inMS(u.shown+sourceLead) - int(g.Time)
		body, packet = u.data, 1
		if !u.key {
			frame = 2
		}
	}
	composition := []byte{byte(offset >> 16), byte(offset >> 8), byte(offset)}
	switch {
	case video && named:
		g.Type, g.Data = tagVideo, append([]byte{enhanced | frame<<4 | packet}, four...)
		if u != nil && m.codec == "hevc" {
			g.Data = append(g.Data, composition...)
		}
	case video:
		g.Type, g.Data = tagVideo, append([]byte{frame<<4 | 7, packet}, composition...)
	case named:
		g.Data = append([]byte{0x90 | packet}, four...)
	case m.codec == "aac":
		g.Data = []byte{soundBytes[m.codec], packet}
	default:
		g.Data = []byte{soundBytes[m.codec]}
	}
	g.Data = append(g.Data, body...)
	return g
}

// flvPlayed is what a player by FLV has got.
type flvPlayed struct {
	video, audio []played
}

// add takes a tag of a codec that was published.
func (p *flvPlayed) add(g tag, s *mediaSource) error {
	if g.Type == tagScript || g.end() || len(g.Data) < 2 {
		return nil
	}
	m := s.audio
	if g.Type == tagVideo {
		m = s.video
	}
	if m == nil {
		return fmt.Errorf("a tag of type %d", g.Type)
	}
	want := m.flvTag(g.Type == tagVideo, &mediaUnit{}).Data
	if g.config() {
		return nil
	}
	four, named := fourCCs[m.codec]
	at, head := time.Duration(g.Time)*time.Millisecond, len(want)
	switch {
	case g.Type == tagVideo && named:
		if g.Data[0]&enhanced == 0 || string(g.Data[1:5]) != four {
			return fmt.Errorf("a picture that begins with %x, not %s", g.Data[:5], four)
		}
		switch packet := g.Data[0] & 0xf; {
		case packet == 2: // the end of the sequence
			return nil
		case packet == 1 && m.codec == "hevc":
			at += composition(g.Data[5:])
		case packet == 3 || packet == 1:
			head = 5
		default:
			return fmt.Errorf("a packet of type %d", packet)
		}
	case g.Type == tagVideo:
		if g.Data[0]&0x8f != 7 {
			return fmt.Errorf("a picture that begins with %x", g.Data[0])
		}
		at += composition(g.Data[2:])
	case named:
		if g.Data[0]>>4 != 9 || string(g.Data[1:5]) != four {
			return fmt.Errorf("sound that begins with %x, not %s", g.Data[:5], four)
		}
		if g.Data[0]&0xf == 2 {
			return nil
		}
	default:
		if g.Data[0]>>4 != soundBytes[m.codec]>>4 {
			return fmt.Errorf("sound that begins with %x", g.Data[0])
		}
	}
	sum := sumOf(m.codec, g.Data[head:])
	if sum == "" {
		return nil
	}
	if g.Type == tagVideo {
		p.video = append(p.video, played{at, sum})
	} else {
		p.audio = append(p.audio, played{at, sum})
	}
	return nil
}

// composition is a composition time, of 24 bits with a sign.
func composition(p []byte) time.Duration {
	n := int32(binary.BigEndian.Uint32([]byte{p[0], p[1], p[2], 0})) >> 8
	return time.Duration(n) * time.Millisecond
}
