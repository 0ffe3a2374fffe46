package abuse

import (
	"encoding/binary"
	"slices"
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

// chunking is the section of the specification that says how messages are cut.
const chunking = "RTMP 5.3.1"

// createPayload is a command that every server answers.
var createPayload, _ = rtmp.AppendCommand(nil, "createStream", 7, nil)

// createLength is that of createPayload.
var createLength = uint32(len(createPayload))

// createHeader is the message header of the same command.
func createHeader(ms uint32) []byte { return header0(ms, createLength, 20, 0) }

// create is the same command, whole.
func create(p *peer) []byte { return p.command(0, "createStream", 7, nil) }

// chunks are the cases of section 5.3 of the specification.
func chunks() []Case {
	return slices.Concat(basicHeaders(), messageLengths(), interleaving(), messageHeaders(), extendedTimes(), truncation(),
		unknownTypes(), messageStreams(), chunkSizes(), stalls(), aggregates(), interruptedConnect())
}

// basicHeaders are chunk stream numbers in all their forms, and headers that refer to none before them.
func basicHeaders() []Case {
	s := section{clause: chunking}
	at := func(stream int) func(*peer) {
		return func(p *peer) { p.send(basic(0, stream), createHeader(0), createPayload) }
	}
	for _, stream := range []int{3, 63, 64, 319, 320, 65599} {
		name := map[int]string{3: "3", 63: "63", 64: "64, in two bytes", 319: "319, in two bytes", 320: "320, in three bytes", 65599: "65,599"}[stream]
		s.rtmp("a command on chunk stream "+name, connected, Served, at(stream))
	}
	s.rtmp("chunk stream 70 in three bytes where two would do", connected, Served, func(p *peer) {
		p.send([]byte{1, 6, 0}, createHeader(0), createPayload)
	})
	s.rtmp("a command on chunk stream 2, which is for control", connected, Served, at(2))
	for _, format := range []byte{1, 2, 3} {
		for _, stream := range []int{9, 100, 1000} {
			title := map[byte]string{1: "1", 2: "2", 3: "3"}[format]
			where := map[int]string{9: "one", 100: "two", 1000: "three"}[stream]
			want := Closed
			if format == 1 {
				want = Harmless // a stream id of 0 can be meant, and some clients do
			}
			s.rtmp("the first header of a chunk stream is of format "+title+", in a basic header of "+where+" bytes", connected, want, func(p *peer) {
				p.send(basic(format, stream), createHeader(0)[:map[byte]int{1: 7, 2: 3, 3: 0}[format]], createPayload)
			})
		}
	}
	return s.cases
}

// messageLengths are messages of no bytes, and some announced as too long.
func messageLengths() []Case {
	s := section{clause: chunking}
	s.rtmp("a message of length 0: a command", connected, Harmless, func(p *peer) { p.send(basic(0, 3), header0(0, 0, 20, 0)) })
	s.rtmp("a message of length 0: sound", publishing, Served, func(p *peer) { p.send(basic(0, 4), header0(0, 0, 8, p.id)) })
	s.rtmp("a message of length 0: pictures", publishing, Served, func(p *peer) { p.send(basic(0, 4), header0(0, 0, 9, p.id)) })
	s.rtmp("a message of length 0: data", publishing, Harmless, func(p *peer) { p.send(basic(0, 4), header0(0, 0, 18, p.id)) })
	s.rtmp("a command that is announced with 16 MB", connected, Closed, func(p *peer) { p.send(basic(0, 3), header0(0, 1<<24-1, 20, 0), zeros(1000)) })
	s.rtmp("a control message that is announced with 16 MB", connected, Closed, func(p *peer) { p.send(basic(0, 2), header0(0, 1<<24-1, 4, 0), zeros(1000)) })
	s.rtmp("data that is announced with 16 MB", publishing, Closed, func(p *peer) { p.send(basic(0, 4), header0(0, 1<<24-1, 18, p.id), zeros(1000)) })
	return s.cases
}

// interleaving is about messages in each other's chunks.
func interleaving() []Case {
	s := section{clause: chunking}
	s.rtmp("two messages in each other's chunks", connected, Served, func(p *peer) {
		p.setChunkSize(16)
		a, b := createPayload, createPayload
		p.send(basic(0, 5), createHeader(0), a[:16], basic(0, 6), createHeader(0), b[:16])
		p.send(basic(3, 5), a[16:], basic(3, 6), b[16:])
	})
	s.rtmp("forty messages in each other's chunks", connected, Harmless, func(p *peer) {
		p.setChunkSize(16)
		for stream := 10; stream < 50; stream++ {
			p.send(basic(0, stream), createHeader(0), createPayload[:16])
		}
		for stream := 10; stream < 50; stream++ {
			p.send(basic(3, stream), createPayload[16:])
		}
	})
	s.rtmp("2,000 chunk streams with a byte of a long message each", connected, Closed, func(p *peer) {
		p.setChunkSize(1)
		for stream := 70; stream < 2070; stream++ {
			p.send(basic(0, stream), header0(0, 60_000, 20, 0), zeros(1))
		}
	})
	s.rtmp("65,000 chunk streams with a whole message each", connected, Harmless, func(p *peer) {
		var b []byte
		for stream := 400; stream < 65_400; stream++ {
			b = append(append(append(b, basic(0, stream)...), header0(0, 4, 3, 0)...), 0, 0, 0, 1)
		}
		p.send(b)
	})
	return s.cases
}

// messageHeaders are short headers where others stood before.
func messageHeaders() []Case {
	s := section{clause: chunking}
	s.rtmp("a header of format 0 inside an unfinished message", connected, Harmless, func(p *peer) {
		p.setChunkSize(16)
		p.send(basic(0, 5), createHeader(0), createPayload[:16])
		p.send(basic(0, 5), createHeader(0), createPayload[:16], basic(3, 5), createPayload[16:])
	})
	s.rtmp("a header of format 1 inside an unfinished message, with another length", connected, Harmless, func(p *peer) {
		p.setChunkSize(16)
		p.send(basic(0, 5), header0(0, 60_000, 20, 0), createPayload[:16])
		p.send(basic(1, 5), createHeader(0)[:7], createPayload[16:])
	})
	s.rtmp("format 3 after a whole message: the same header again", connected, Served, func(p *peer) {
		p.send(basic(0, 5), createHeader(0), createPayload, basic(3, 5), createPayload, basic(3, 5), createPayload)
	})
	s.rtmp("formats 1 and 2 after a whole message", connected, Served, func(p *peer) {
		p.send(basic(0, 5), createHeader(0), createPayload)
		p.send(basic(1, 5), createHeader(40)[:7], createPayload, basic(2, 5), []byte{0, 0, 40}, createPayload)
	})
	return s.cases
}

// extendedTimes are timestamps of 32 bits.
func extendedTimes() []Case {
	s := section{clause: chunking}
	s.rtmp("an extended timestamp of 0xFFFFFF", connected, Served, func(p *peer) {
		p.send(basic(0, 5), createHeader(0xFFFFFF), be32(0xFFFFFF), createPayload)
	})
	s.rtmp("an extended timestamp that would not need to be one", connected, Served, func(p *peer) {
		p.send(basic(0, 5), createHeader(0xFFFFFF), be32(5), createPayload)
	})
	s.rtmp("an extended timestamp, repeated in chunks of format 3", connected, Served, func(p *peer) {
		p.setChunkSize(16)
		p.send(basic(0, 5), createHeader(0xFFFFFF), be32(1<<32-1), createPayload[:16], basic(3, 5), be32(1<<32-1), createPayload[16:])
	})
	s.rtmp("an extended timestamp, not repeated in chunks of format 3", publishing, Harmless, func(p *peer) {
		p.setChunkSize(64)
		frame := append([]byte{0x27, 1, 0, 0, 0}, zeros(123)...)
		p.send(basic(0, 6), header0(0xFFFFFF, 128, 9, p.id), be32(0x1000000), frame[:64], basic(3, 6), frame[64:])
	})
	s.rtmp("the end of an extended timestamp does not come", connected, Closed, func(p *peer) {
		p.send(basic(0, 5), createHeader(0xFFFFFF), []byte{0, 0})
		p.finish()
	})
	return s.cases
}

// truncation is the end of a connection inside a message.
func truncation() []Case {
	s := section{clause: chunking}
	for i := range 11 {
		if i%3 == 0 {
			s.rtmp("the end after "+[]string{0: "the basic header", 3: "3 bytes of the message header", 6: "6 bytes of the message header", 9: "9 bytes of the message header"}[i], connected, Closed, func(p *peer) {
				p.send(basic(0, 5), createHeader(0)[:i])
				p.finish()
			})
		}
	}
	s.rtmp("the end inside a basic header of three bytes", connected, Closed, func(p *peer) { p.send([]byte{1, 0}); p.finish() })
	s.rtmp("the end inside a payload", connected, Closed, func(p *peer) { p.send(create(p)[:20]); p.finish() })
	return s.cases
}

// unknownTypes are messages that mean nothing.
func unknownTypes() []Case {
	s := section{clause: chunking}
	for _, typ := range []byte{0, 7, 10, 13, 14, 16, 19, 21, 23, 128, 255} {
		s.rtmp("a message of the unknown type "+map[byte]string{0: "0", 7: "7", 10: "10", 13: "13", 14: "14", 16: "16 (shared object, AMF 3)", 19: "19 (shared object)", 21: "21", 23: "23", 128: "128", 255: "255"}[typ],
			connected, Served, func(p *peer) { p.send(basic(0, 5), header0(0, 12, typ, 0), zeros(12)) })
	}
	s.rtmp("3,000 messages of an unknown type", publishing, Harmless, func(p *peer) {
		for range 3000 {
			p.send(basic(0, 5), header0(0, 4, 200, p.id), zeros(4))
		}
	})
	return s.cases
}

// messageStreams are messages of streams that are not there.
func messageStreams() []Case {
	s := section{clause: chunking}
	s.rtmp("pictures on a message stream that was never created", publishing, Harmless, func(p *peer) {
		p.send(p.message(6, rtmp.TypeVideo, 77, 0, append([]byte{0x17, 1, 0, 0, 0}, zeros(50)...)))
	})
	s.rtmp("a message stream id in the other byte order", connected, Served, func(p *peer) {
		h := createHeader(0)
		copy(h[7:], []byte{0, 0, 0, 1})
		p.send(basic(0, 5), h, createPayload)
	})
	return s.cases
}

// chunkSizes are messages at the edges of the chunk size.
func chunkSizes() []Case {
	s := section{clause: chunking}
	s.rtmp("a message in chunks of 1 byte", connected, Served, func(p *peer) {
		p.setChunkSize(1)
		p.send(p.command(0, "createStream", 8, nil))
	})
	s.rtmp("a message of exactly the chunk size", connected, Served, func(p *peer) {
		p.setChunkSize(createLength)
		p.send(create(p), create(p))
	})
	s.rtmp("a message one byte longer than the chunk size", connected, Served, func(p *peer) {
		p.setChunkSize(createLength - 1)
		p.send(create(p), create(p))
	})
	return s.cases
}

// stalls are clients that stop, and one that never speaks RTMP.
func stalls() []Case {
	s := section{clause: chunking}
	s.rtmpLate("a message that stops half way", connected, Closed, func(p *peer) { p.send(create(p)[:20]) })
	s.rtmpLate("a chunk header that stops half way", publishing, Closed, func(p *peer) { p.send([]byte{4, 0, 0}) })
	s.rtmpLate("a long message, a byte every 500 ms", publishing, Closed, func(p *peer) {
		p.send(basic(0, 6), header0(0, 100_000, 9, p.id))
		p.drip(zeros(2000), 500*time.Millisecond)
	})
	s.rtmp("100 KB of one byte after the handshake", shaken, Closed, func(p *peer) {
		b := zeros(100_000)
		for i := range b {
			b[i] = 0xC3
		}
		p.send(b)
	})
	return s.cases
}

// aggregates are messages that hold messages.
func aggregates() []Case {
	s := section{clause: "RTMP 7.1.6"}
	s.rtmp("an aggregate message that holds one within itself", publishing, Harmless, func(p *peer) {
		inner := aggregate(22, aggregate(9, append([]byte{0x27, 1, 0, 0, 0}, zeros(20)...)))
		p.send(p.message(6, 22, p.id, 0, inner))
	})
	s.rtmp("an aggregate message whose part is longer than the message", publishing, Harmless, func(p *peer) {
		part := aggregate(9, zeros(30))
		copy(part[1:], []byte{0xFF, 0xFF, 0xFF})
		p.send(p.message(6, 22, p.id, 0, part))
	})
	s.rtmp("an aggregate message that ends inside a part's header", publishing, Harmless, func(p *peer) {
		p.send(p.message(6, 22, p.id, 0, aggregate(9, zeros(30))[:7]))
	})
	s.rtmp("an aggregate message with a wrong size behind its part", publishing, Harmless, func(p *peer) {
		part := aggregate(9, append([]byte{0x27, 1, 0, 0, 0}, zeros(20)...))
		part[len(part)-1] ^= 0x55
		p.send(p.message(6, 22, p.id, 0, part))
	})
	return s.cases
}

// interruptedConnect is a command of the beginning between whose chunks there is something else.
func interruptedConnect() []Case {
	s := section{clause: chunking}
	s.rtmp("a connect whose name is cut in chunks by another message", shaken, Served, func(p *peer) {
		p.setChunkSize(32)
		c := p.connect(p.target.app)
		first := len(basic(0, 3)) + 11 + p.size
		p.send(c[:first], p.control(rtmp.TypeAcknowledgement, be32(0)), c[first:])
		if err := p.result(1); err != nil {
			p.note = err.Error()
		}
	})
	return s.cases
}

// aggregate is one part of an aggregate message: an FLV tag and its size.
func aggregate(typ byte, body []byte) []byte {
	n := len(body)
	b := []byte{typ, byte(n >> 16), byte(n >> 8), byte(n), 0, 0, 0, 0, 0, 0, 0}
	return append(append(b, body...), be32(uint32(n+11))...)
}
