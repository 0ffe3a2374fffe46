package abuse

import (
	"bytes"
	"fmt"

	"github.com/sluice-go/sluice/rtmp"
)

// media are the cases of enhanced RTMP, of codecs and of timestamps. The body of a
// message is a relay's to pass on, so that most are harmless when it does.
func media() []Case {
	var cases []Case
	section := "Enhanced RTMP v2"
	body := func(title string, typ rtmp.MessageType, payload ...[]byte) {
		cases = append(cases, rtmpCase(title, section, publishing, Harmless, func(p *peer) {
			p.send(p.media(typ, 0, join(payload...)...), p.media(typ, 40, 0x27, 1, 0, 0, 0, 0, 0, 0, 2, 9, 16))
		}))
	}
	video := func(title string, payload ...[]byte) { body(title, rtmp.TypeVideo, payload...) }
	audio := func(title string, payload ...[]byte) { body(title, rtmp.TypeAudio, payload...) }
	ex := func(packet byte) []byte { return []byte{0x90 | packet} }
	exAudio := func(packet byte) []byte { return []byte{0x90 | packet} }
	some := zeros(40)

	video("a picture with the unknown FourCC zzzz", ex(1), []byte("zzzz"), some)
	video("a picture whose FourCC is 2 bytes", ex(1), []byte("hv"))
	video("a picture without FourCC", ex(1))
	video("a FourCC of zero bytes", ex(1), zeros(4), some)
	for packet := byte(8); packet < 16; packet++ {
		video(fmt.Sprintf("the reserved packet type %d", packet), ex(packet), []byte("hvc1"), some)
	}
	video("a modifier (ModEx) that is longer than the message", ex(7), []byte{250}, []byte("ab"))
	video("a modifier of 65,535 bytes that are not there", ex(7), []byte{255, 0xFF, 0xFF}, []byte("ab"))
	video("2,000 modifiers one after another", bytes.Repeat([]byte{0x97, 0, 0, 0x07}, 2000))
	video("several tracks (multitrack), and none is there", ex(6), []byte{0x10}, []byte("hvc1"))
	video("a track that is longer than the message", ex(6), []byte{0x11}, []byte("hvc1"), []byte{0, 0xFF, 0xFF, 0xFF}, some)
	video("a track of length 0", ex(6), []byte{0x11}, []byte("hvc1"), []byte{0, 0, 0, 0})
	video("tracks of the reserved kind 15", ex(6), []byte{0xF1}, []byte("hvc1"), some)
	video("tracks within tracks", ex(6), []byte{0x06}, []byte("hvc1"), []byte{0}, some)
	video("255 tracks", ex(6), []byte{0x11}, []byte("hvc1"), bytes.Repeat([]byte{200, 0, 0, 1, 0xAA}, 255))
	video("metadata of colours that is no AMF 0", ex(4), []byte("hvc1"), bytes.Repeat([]byte{0xEE}, 30))
	video("metadata of colours of 5,000 objects in each other", ex(4), []byte("hvc1"), short("colorInfo"), bytes.Repeat([]byte{markObject, 0, 1, 'a'}, 5000))
	video("an empty HEVC configuration", ex(0), []byte("hvc1"))
	video("an HEVC configuration that ends in its first array", ex(0), []byte("hvc1"), []byte{1, 1, 0x60}, zeros(19), []byte{5, 0xFF, 0xFF})
	video("an AV1 configuration of 1 byte", ex(0), []byte("av01"), []byte{0x81})
	video("a VP9 configuration of noise", ex(0), []byte("vp09"), bytes.Repeat([]byte{0xC3}, 500))
	video("a commands frame without its byte", []byte{0x5A})
	section = "FLV, E.4.3.1"
	video("a picture of 0 bytes")
	video("a picture of 1 byte", []byte{0x17})
	video("an empty AVC configuration", []byte{0x17, 0, 0, 0, 0})
	video("an AVC configuration with 31 parameter sets that are not there", []byte{0x17, 0, 0, 0, 0, 1, 66, 0, 30, 0xFF, 0xFF})
	video("an AVC configuration with a parameter set of 65,535 bytes", []byte{0x17, 0, 0, 0, 0, 1, 66, 0, 30, 0xFF, 0xE1, 0xFF, 0xFF, 0x67})
	video("a NAL unit of 2^32 - 1 bytes", []byte{0x17, 1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x65}, some)
	video("a composition time of -2^23", []byte{0x17, 1, 0x80, 0, 0, 0, 0, 0, 2, 0x65, 0})
	video("pictures of the unknown codec 15", []byte{0x1F}, some)
	video("pictures of the frame type 0", []byte{0x07, 1, 0, 0, 0}, some)
	video("Sorenson, which nothing announces", []byte{0x12}, some)
	section = "FLV, E.4.2.1"
	audio("sound of 0 bytes")
	audio("sound of 1 byte", []byte{0xAF})
	audio("an empty AAC configuration", []byte{0xAF, 0})
	audio("an AAC configuration of noise", []byte{0xAF, 0}, bytes.Repeat([]byte{0xFF}, 400))
	audio("sound of the reserved codec 12", []byte{0xCF}, some)
	section = "Enhanced RTMP v2"
	audio("sound with the unknown FourCC zzzz", exAudio(1), []byte("zzzz"), some)
	audio("255 channels whose order is not there", exAudio(4), []byte("Opus"), []byte{2, 255})
	audio("sound with tracks that are not there", exAudio(5), []byte{0x10})

	section = "RTMP 5.3.1.1, limits of a server"
	add := func(title string, want Expectation, send func(*peer)) {
		cases = append(cases, rtmpCase(title, section, publishing, want, send))
	}
	for _, n := range []int{5 << 20, 1<<24 - 1} {
		add(fmt.Sprintf("a picture of %d bytes", n), Harmless, func(p *peer) {
			p.send(p.media(rtmp.TypeVideo, 0, append([]byte{0x17, 1, 0, 0, 0}, zeros(n-5)...)...))
		})
	}
	add("20,000 pictures of 1 byte", Harmless, func(p *peer) {
		var b []byte
		for i := range uint32(20_000) {
			b = append(b, p.media(rtmp.TypeVideo, i, 0x27)...)
		}
		p.send(b)
	})
	add("5,000 key frames of 5 bytes", Harmless, func(p *peer) {
		var b []byte
		for i := range uint32(5000) {
			b = append(b, p.media(rtmp.TypeVideo, i, 0x17, 1, 0, 0, 0)...)
		}
		p.send(b)
	})
	add("1,000 new codec configurations", Harmless, func(p *peer) {
		for i := range 1000 {
			p.send(p.media(rtmp.TypeVideo, 0, 0x17, 0, 0, 0, 0, 1, byte(i), byte(i>>8), 30, 0xFF))
		}
	})
	add("the codec changes with each picture", Harmless, func(p *peer) {
		for i := range 300 {
			p.send(p.media(rtmp.TypeVideo, uint32(i), append(append([]byte{0x91}, []string{"hvc1", "av01", "vp09"}[i%3]...), some...)...))
		}
	})

	section = "RTMP 5.3.1.3"
	times := func(title string, at ...uint32) {
		add(title, Harmless, func(p *peer) {
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
	times("times that go back by a millisecond", 100, 99, 100, 99, 98)
	times("times that go back by an hour", 3_600_000, 3_600_040, 0, 40)
	times("times that leap ahead by 2^31", 0, 1<<31, 1<<31+40)
	times("times that leap ahead by 2^31 + 1", 0, 1<<31+1, 1<<31+41)
	times("times that wrap at 2^32", 1<<32-80, 1<<32-40, 0, 40, 80)
	times("the same time again and again", 7, 7, 7, 7, 7, 7, 7, 7)
	times("times that leap to and fro", 0, 1<<30, 40, 1<<31, 80, 1<<32-1, 120)
	add("1,000 times that leap at random", Harmless, func(p *peer) {
		ms := uint32(1)
		for range 1000 {
			ms = ms*1664525 + 1013904223
			p.send(p.media(rtmp.TypeVideo, ms, 0x17, 1, 0, 0, 0, 0, 0, 0, 2, 0x65, 0))
		}
	})
	return cases
}
