package abuse

import (
	"encoding/binary"
	"time"

	"github.com/sluice-go/sluice/rtmp"
)

// basic is the basic header of a chunk in the form that its stream needs
// (specification, section 5.3.1.1).
func basic(format byte, stream int) []byte {
	switch {
	case stream < 64:
		return []byte{format<<6 | byte(stream)}
	case stream < 64+256:
		return []byte{format << 6, byte(stream - 64)}
	}
	return []byte{format<<6 | 1, byte(stream - 64), byte((stream - 64) >> 8)}
}

// header0 is a message header of format 0, with any length.
func header0(ms, length uint32, typ byte, streamID uint32) []byte {
	b := []byte{byte(ms >> 16), byte(ms >> 8), byte(ms), byte(length >> 16), byte(length >> 8), byte(length), typ}
	return binary.LittleEndian.AppendUint32(b, streamID)
}

// chunks are the cases of section 5.3 of the specification.
func chunks() []Case {
	const section = "RTMP 5.3.1"
	create := func(p *peer) []byte { return p.command(0, "createStream", 7, nil) }
	createPayload, _ := rtmp.AppendCommand(nil, "createStream", 7, nil)
	n := uint32(len(createPayload))
	at := func(stream int) func(*peer) {
		return func(p *peer) { p.send(basic(0, stream), header0(0, n, 20, 0), createPayload) }
	}
	var cases []Case
	add := func(title string, from phase, want Expectation, send func(*peer)) {
		cases = append(cases, rtmpCase(title, section, from, want, send))
	}
	for _, stream := range []int{3, 63, 64, 319, 320, 65599} {
		name := map[int]string{3: "3", 63: "63", 64: "64, in two bytes", 319: "319, in two bytes", 320: "320, in three bytes", 65599: "65,599"}[stream]
		add("a command on chunk stream "+name, connected, Served, at(stream))
	}
	add("chunk stream 70 in three bytes where two would do", connected, Served, func(p *peer) {
		p.send([]byte{1, 6, 0}, header0(0, n, 20, 0), createPayload)
	})
	add("a command on chunk stream 2, which is for control", connected, Served, at(2))
	for _, format := range []byte{1, 2, 3} {
		for _, stream := range []int{9, 100, 1000} {
			title := map[byte]string{1: "1", 2: "2", 3: "3"}[format]
			where := map[int]string{9: "one", 100: "two", 1000: "three"}[stream]
			want := Closed
			if format == 1 {
				want = Harmless // a stream id of 0 can be meant, and some clients do
			}
			add("the first header of a chunk stream is of format "+title+", in a basic header of "+where+" bytes", connected, want, func(p *peer) {
				p.send(basic(format, stream), header0(0, n, 20, 0)[:map[byte]int{1: 7, 2: 3, 3: 0}[format]], createPayload)
			})
		}
	}
	add("a message of length 0: a command", connected, Harmless, func(p *peer) { p.send(basic(0, 3), header0(0, 0, 20, 0)) })
	add("a message of length 0: sound", publishing, Served, func(p *peer) { p.send(basic(0, 4), header0(0, 0, 8, p.id)) })
	add("a message of length 0: pictures", publishing, Served, func(p *peer) { p.send(basic(0, 4), header0(0, 0, 9, p.id)) })
	add("a message of length 0: data", publishing, Harmless, func(p *peer) { p.send(basic(0, 4), header0(0, 0, 18, p.id)) })
	add("a command that is announced with 16 MB", connected, Closed, func(p *peer) { p.send(basic(0, 3), header0(0, 1<<24-1, 20, 0), zeros(1000)) })
	add("a control message that is announced with 16 MB", connected, Closed, func(p *peer) { p.send(basic(0, 2), header0(0, 1<<24-1, 4, 0), zeros(1000)) })
	add("data that is announced with 16 MB", publishing, Closed, func(p *peer) { p.send(basic(0, 4), header0(0, 1<<24-1, 18, p.id), zeros(1000)) })
	add("two messages in each other's chunks", connected, Served, func(p *peer) {
		p.setChunkSize(16)
		a, b := createPayload, createPayload
		p.send(basic(0, 5), header0(0, n, 20, 0), a[:16], basic(0, 6), header0(0, n, 20, 0), b[:16])
		p.send(basic(3, 5), a[16:], basic(3, 6), b[16:])
	})
	add("forty messages in each other's chunks", connected, Harmless, func(p *peer) {
		p.setChunkSize(16)
		for s := 10; s < 50; s++ {
			p.send(basic(0, s), header0(0, n, 20, 0), createPayload[:16])
		}
		for s := 10; s < 50; s++ {
			p.send(basic(3, s), createPayload[16:])
		}
	})
	add("2,000 chunk streams with a byte of a long message each", connected, Closed, func(p *peer) {
		p.setChunkSize(1)
		for s := 70; s < 2070; s++ {
			p.send(basic(0, s), header0(0, 60_000, 20, 0), zeros(1))
		}
	})
	add("65,000 chunk streams with a whole message each", connected, Harmless, func(p *peer) {
		var b []byte
		for s := 400; s < 65_400; s++ {
			b = append(append(append(b, basic(0, s)...), header0(0, 4, 3, 0)...), 0, 0, 0, 1)
		}
		p.send(b)
	})
	add("a header of format 0 inside an unfinished message", connected, Harmless, func(p *peer) {
		p.setChunkSize(16)
		p.send(basic(0, 5), header0(0, n, 20, 0), createPayload[:16])
		p.send(basic(0, 5), header0(0, n, 20, 0), createPayload[:16], basic(3, 5), createPayload[16:])
	})
	add("a header of format 1 inside an unfinished message, with another length", connected, Harmless, func(p *peer) {
		p.setChunkSize(16)
		p.send(basic(0, 5), header0(0, 60_000, 20, 0), createPayload[:16])
		p.send(basic(1, 5), header0(0, n, 20, 0)[:7], createPayload[16:])
	})
	add("format 3 after a whole message: the same header again", connected, Served, func(p *peer) {
		p.send(basic(0, 5), header0(0, n, 20, 0), createPayload, basic(3, 5), createPayload, basic(3, 5), createPayload)
	})
	add("formats 1 and 2 after a whole message", connected, Served, func(p *peer) {
		p.send(basic(0, 5), header0(0, n, 20, 0), createPayload)
		p.send(basic(1, 5), header0(40, n, 20, 0)[:7], createPayload, basic(2, 5), []byte{0, 0, 40}, createPayload)
	})
	add("an extended timestamp of 0xFFFFFF", connected, Served, func(p *peer) {
		p.send(basic(0, 5), header0(0xFFFFFF, n, 20, 0), be32(0xFFFFFF), createPayload)
	})
	add("an extended timestamp that would not need to be one", connected, Served, func(p *peer) {
		p.send(basic(0, 5), header0(0xFFFFFF, n, 20, 0), be32(5), createPayload)
	})
	add("an extended timestamp, repeated in chunks of format 3", connected, Served, func(p *peer) {
		p.setChunkSize(16)
		p.send(basic(0, 5), header0(0xFFFFFF, n, 20, 0), be32(1<<32-1), createPayload[:16], basic(3, 5), be32(1<<32-1), createPayload[16:])
	})
	add("an extended timestamp, not repeated in chunks of format 3", publishing, Harmless, func(p *peer) {
		p.setChunkSize(64)
		frame := append([]byte{0x27, 1, 0, 0, 0}, zeros(123)...)
		p.send(basic(0, 6), header0(0xFFFFFF, 128, 9, p.id), be32(0x1000000), frame[:64], basic(3, 6), frame[64:])
	})
	add("the end of an extended timestamp does not come", connected, Closed, func(p *peer) {
		p.send(basic(0, 5), header0(0xFFFFFF, n, 20, 0), []byte{0, 0})
		p.finish()
	})
	for i := range 11 {
		if i%3 == 0 {
			add("the end after "+[]string{0: "the basic header", 3: "3 bytes of the message header", 6: "6 bytes of the message header", 9: "9 bytes of the message header"}[i], connected, Closed, func(p *peer) {
				p.send(basic(0, 5), header0(0, n, 20, 0)[:i])
				p.finish()
			})
		}
	}
	add("the end inside a basic header of three bytes", connected, Closed, func(p *peer) { p.send([]byte{1, 0}); p.finish() })
	add("the end inside a payload", connected, Closed, func(p *peer) { p.send(create(p)[:20]); p.finish() })
	for _, typ := range []byte{0, 7, 10, 13, 14, 16, 19, 21, 23, 128, 255} {
		add("a message of the unknown type "+map[byte]string{0: "0", 7: "7", 10: "10", 13: "13", 14: "14", 16: "16 (shared object, AMF 3)", 19: "19 (shared object)", 21: "21", 23: "23", 128: "128", 255: "255"}[typ],
			connected, Served, func(p *peer) { p.send(basic(0, 5), header0(0, 12, typ, 0), zeros(12)) })
	}
	add("3,000 messages of an unknown type", publishing, Harmless, func(p *peer) {
		for range 3000 {
			p.send(basic(0, 5), header0(0, 4, 200, p.id), zeros(4))
		}
	})
	add("pictures on a message stream that was never created", publishing, Harmless, func(p *peer) {
		p.send(p.message(6, rtmp.TypeVideo, 77, 0, append([]byte{0x17, 1, 0, 0, 0}, zeros(50)...)))
	})
	add("a message stream id in the other byte order", connected, Served, func(p *peer) {
		h := header0(0, n, 20, 0)
		copy(h[7:], []byte{0, 0, 0, 1})
		p.send(basic(0, 5), h, createPayload)
	})
	add("a message in chunks of 1 byte", connected, Served, func(p *peer) {
		p.setChunkSize(1)
		p.send(p.command(0, "createStream", 8, nil))
	})
	add("a message of exactly the chunk size", connected, Served, func(p *peer) {
		p.setChunkSize(n)
		p.send(create(p), create(p))
	})
	add("a message one byte longer than the chunk size", connected, Served, func(p *peer) {
		p.setChunkSize(n - 1)
		p.send(create(p), create(p))
	})
	cases = append(cases,
		late(rtmpCase("a message that stops half way", section, connected, Closed, func(p *peer) { p.send(create(p)[:20]) })),
		late(rtmpCase("a chunk header that stops half way", section, publishing, Closed, func(p *peer) { p.send([]byte{4, 0, 0}) })),
		late(rtmpCase("a long message, a byte every 500 ms", section, publishing, Closed, func(p *peer) {
			p.send(basic(0, 6), header0(0, 100_000, 9, p.id))
			p.drip(zeros(2000), 500*time.Millisecond)
		})),
		rtmpCase("100 KB of one byte after the handshake", section, shaken, Closed, func(p *peer) {
			b := zeros(100_000)
			for i := range b {
				b[i] = 0xC3
			}
			p.send(b)
		}),
		rtmpCase("an aggregate message that holds one within itself", "RTMP 7.1.6", publishing, Harmless, func(p *peer) {
			inner := aggregate(22, aggregate(9, append([]byte{0x27, 1, 0, 0, 0}, zeros(20)...)))
			p.send(p.message(6, 22, p.id, 0, inner))
		}),
		rtmpCase("an aggregate message whose part is longer than the message", "RTMP 7.1.6", publishing, Harmless, func(p *peer) {
			part := aggregate(9, zeros(30))
			copy(part[1:], []byte{0xFF, 0xFF, 0xFF})
			p.send(p.message(6, 22, p.id, 0, part))
		}),
		rtmpCase("an aggregate message that ends inside a part's header", "RTMP 7.1.6", publishing, Harmless, func(p *peer) {
			p.send(p.message(6, 22, p.id, 0, aggregate(9, zeros(30))[:7]))
		}),
		rtmpCase("an aggregate message with a wrong size behind its part", "RTMP 7.1.6", publishing, Harmless, func(p *peer) {
			part := aggregate(9, append([]byte{0x27, 1, 0, 0, 0}, zeros(20)...))
			part[len(part)-1] ^= 0x55
			p.send(p.message(6, 22, p.id, 0, part))
		}),
		rtmpCase("a connect whose name is cut in chunks by another message", section, shaken, Served, func(p *peer) {
			p.setChunkSize(32)
			c := p.connect(p.target.app)
			first := len(basic(0, 3)) + 11 + p.size
			p.send(c[:first], p.control(rtmp.TypeAcknowledgement, be32(0)), c[first:])
			if err := p.result(1); err != nil {
				p.note = err.Error()
			}
		}),
	)
	return cases
}

// aggregate is one part of an aggregate message: an FLV tag and its size.
func aggregate(typ byte, body []byte) []byte {
	n := len(body)
	b := []byte{typ, byte(n >> 16), byte(n >> 8), byte(n), 0, 0, 0, 0, 0, 0, 0}
	return append(append(b, body...), be32(uint32(n+11))...)
}
