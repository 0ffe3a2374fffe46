package abuse

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/rtmp"
)

// media are the cases of enhanced RTMP, of codecs and of timestamps. The body of a
// message is a relay's to pass on, so that most are harmless when it does.
func media() []Case {
	return slices.Concat(enhancedVideo(), flvVideo(), flvAudio(), enhancedAudio(), mediaLimits(), mediaTimes())
}

// publisher adds a harmless case of a client that publishes.
func (s *section) publisher(title string, send func(*peer)) {
	s.rtmp(title, publishing, Harmless, send)
}

// body adds a message of these bytes, and a picture after it.
func (s *section) body(title string, typ rtmp.MessageType, payload ...[]byte) {
	s.publisher(title, func(p *peer) {
		p.send(p.media(typ, 0, join(payload...)...), p.media(typ, 40, 0x27, 1, 0, 0, 0, 0, 0, 0, 2, 9, 16))
	})
}

func (s *section) video(title string, payload ...[]byte) { s.body(title, rtmp.TypeVideo, payload...) }
func (s *section) audio(title string, payload ...[]byte) { s.body(title, rtmp.TypeAudio, payload...) }

// ex is the first byte of an enhanced message: of a key frame, or of sound.
func ex(packet byte) []byte { return []byte{0x90 | packet} }

// enhancedVideo are the messages of enhanced RTMP for pictures.
func enhancedVideo() []Case {
	s := section{clause: "Enhanced RTMP v2"}
	some := zeros(40)
	s.video("a picture with the unknown FourCC zzzz", ex(1), []byte("zzzz"), some)
	s.video("a picture whose FourCC is 2 bytes", ex(1), []byte("hv"))
	s.video("a picture without FourCC", ex(1))
	s.video("a FourCC of zero bytes", ex(1), zeros(4), some)
	for packet := byte(8); packet < 16; packet++ {
		s.video(fmt.Sprintf("the reserved packet type %d", packet), ex(packet), []byte("hvc1"), some)
	}
	s.video("a modifier (ModEx) that is longer than the message", ex(7), []byte{250}, []byte("ab"))
	s.video("a modifier of 65,535 bytes that are not there", ex(7), []byte{255, 0xFF, 0xFF}, []byte("ab"))
	s.video("2,000 modifiers one after another", bytes.Repeat([]byte{0x97, 0, 0, 0x07}, 2000))
	s.video("several tracks (multitrack), and none is there", ex(6), []byte{0x10}, []byte("hvc1"))
	s.video("a track that is longer than the message", ex(6), []byte{0x11}, []byte("hvc1"), []byte{0, 0xFF, 0xFF, 0xFF}, some)
	s.video("a track of length 0", ex(6), []byte{0x11}, []byte("hvc1"), []byte{0, 0, 0, 0})
	s.video("tracks of the reserved kind 15", ex(6), []byte{0xF1}, []byte("hvc1"), some)
	s.video("tracks within tracks", ex(6), []byte{0x06}, []byte("hvc1"), []byte{0}, some)
	s.video("255 tracks", ex(6), []byte{0x11}, []byte("hvc1"), bytes.Repeat([]byte{200, 0, 0, 1, 0xAA}, 255))
	s.video("metadata of colours that is no AMF 0", ex(4), []byte("hvc1"), bytes.Repeat([]byte{0xEE}, 30))
	s.video("metadata of colours of 5,000 objects in each other", ex(4), []byte("hvc1"), short("colorInfo"), bytes.Repeat([]byte{markObject, 0, 1, 'a'}, 5000))
	s.video("an empty HEVC configuration", ex(0), []byte("hvc1"))
	s.video("an HEVC configuration that ends in its first array", ex(0), []byte("hvc1"), []byte{1, 1, 0x60}, zeros(19), []byte{5, 0xFF, 0xFF})
	s.video("an AV1 configuration of 1 byte", ex(0), []byte("av01"), []byte{0x81})
	s.video("a VP9 configuration of noise", ex(0), []byte("vp09"), bytes.Repeat([]byte{0xC3}, 500))
	s.video("a commands frame without its byte", []byte{0x5A})
	return s.cases
}

// flvVideo are the messages of FLV for pictures.
func flvVideo() []Case {
	s := section{clause: "FLV, E.4.3.1"}
	some := zeros(40)
	s.video("a picture of 0 bytes")
	s.video("a picture of 1 byte", []byte{0x17})
	s.video("an empty AVC configuration", []byte{0x17, 0, 0, 0, 0})
	s.video("an AVC configuration with 31 parameter sets that are not there", []byte{0x17, 0, 0, 0, 0, 1, 66, 0, 30, 0xFF, 0xFF})
	s.video("an AVC configuration with a parameter set of 65,535 bytes", []byte{0x17, 0, 0, 0, 0, 1, 66, 0, 30, 0xFF, 0xE1, 0xFF, 0xFF, 0x67})
	s.video("a NAL unit of 2^32 - 1 bytes", []byte{0x17, 1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x65}, some)
	s.video("a composition time of -2^23", []byte{0x17, 1, 0x80, 0, 0, 0, 0, 0, 2, 0x65, 0})
	s.video("pictures of the unknown codec 15", []byte{0x1F}, some)
	s.video("pictures of the frame type 0", []byte{0x07, 1, 0, 0, 0}, some)
	s.video("Sorenson, which nothing announces", []byte{0x12}, some)
	return s.cases
}

// flvAudio are the messages of FLV for sound.
func flvAudio() []Case {
	s := section{clause: "FLV, E.4.2.1"}
	some := zeros(40)
	s.audio("sound of 0 bytes")
	s.audio("sound of 1 byte", []byte{0xAF})
	s.audio("an empty AAC configuration", []byte{0xAF, 0})
	s.audio("an AAC configuration of noise", []byte{0xAF, 0}, bytes.Repeat([]byte{0xFF}, 400))
	s.audio("sound of the reserved codec 12", []byte{0xCF}, some)
	return s.cases
}

// enhancedAudio are the messages of enhanced RTMP for sound.
func enhancedAudio() []Case {
	s := section{clause: "Enhanced RTMP v2"}
	some := zeros(40)
	s.audio("sound with the unknown FourCC zzzz", ex(1), []byte("zzzz"), some)
	s.audio("255 channels whose order is not there", ex(4), []byte("Opus"), []byte{2, 255})
	s.audio("sound with tracks that are not there", ex(5), []byte{0x10})
	return s.cases
}

// mediaLimits are messages that are long or many.
func mediaLimits() []Case {
	s := section{clause: "RTMP 5.3.1.1, limits of a server"}
	some := zeros(40)
	for _, n := range []int{5 << 20, 1<<24 - 1} {
		s.publisher(fmt.Sprintf("a picture of %d bytes", n), func(p *peer) {
			p.send(p.media(rtmp.TypeVideo, 0, append([]byte{0x17, 1, 0, 0, 0}, zeros(n-5)...)...))
		})
	}
	s.publisher("20,000 pictures of 1 byte", func(p *peer) {
		var b []byte
		for i := range uint32(20_000) {
			b = append(b, p.media(rtmp.TypeVideo, i, 0x27)...)
		}
		p.send(b)
	})
	s.publisher("5,000 key frames of 5 bytes", func(p *peer) {
		var b []byte
		for i := range uint32(5000) {
			b = append(b, p.media(rtmp.TypeVideo, i, 0x17, 1, 0, 0, 0)...)
		}
		p.send(b)
	})
	s.publisher("1,000 new codec configurations", func(p *peer) {
		for i := range 1000 {
			p.send(p.media(rtmp.TypeVideo, 0, 0x17, 0, 0, 0, 0, 1, byte(i), byte(i>>8), 30, 0xFF))
		}
	})
	s.publisher("the codec changes with each picture", func(p *peer) {
		for i := range 300 {
			p.send(p.media(rtmp.TypeVideo, uint32(i), append(append([]byte{0x91}, []string{"hvc1", "av01", "vp09"}[i%3]...), some...)...))
		}
	})
	return s.cases
}

// times adds pictures at these times, in milliseconds.
func (s *section) times(title string, at ...uint32) {
	s.publisher(title, func(p *peer) {
		p.send(p.media(rtmp.TypeVideo, at[0], 0x17, 0, 0, 0, 0, 1, 66, 0, 30, 0xFF))
		for i, ms := range at {
			key := byte(0x27)
			if i%2 == 0 {
				key = 0x17
			}
			p.send(p.media(rtmp.TypeVideo, ms, key, 1, 0, 0, 0, 0, 0, 0, 2, 0x65, byte(i)))
		}
	})
}

// mediaTimes are timestamps that go back, leap or wrap.
func mediaTimes() []Case {
	s := section{clause: "RTMP 5.3.1.3"}
	s.times("times that go back by a millisecond", 100, 99, 100, 99, 98)
	s.times("times that go back by an hour", 3_600_000, 3_600_040, 0, 40)
	s.times("times that leap ahead by 2^31", 0, 1<<31, 1<<31+40)
	s.times("times that leap ahead by 2^31 + 1", 0, 1<<31+1, 1<<31+41)
	s.times("times that wrap at 2^32", 1<<32-80, 1<<32-40, 0, 40, 80)
	s.times("the same time again and again", 7, 7, 7, 7, 7, 7, 7, 7)
	s.times("times that leap to and fro", 0, 1<<30, 40, 1<<31, 80, 1<<32-1, 120)
	s.publisher("1,000 times that leap at random", func(p *peer) {
		ms := uint32(1)
		for range 1000 {
			ms = ms*1664525 + 1013904223
			p.send(p.media(rtmp.TypeVideo, ms, 0x17, 1, 0, 0, 0, 0, 0, 0, 2, 0x65, 0))
		}
	})
	return s.cases
}
