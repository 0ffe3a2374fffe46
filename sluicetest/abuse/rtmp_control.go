package abuse

import (
	"github.com/sluice-go/sluice/rtmp"
)

// controls are the cases of protocol control and user control messages.
func controls() []Case {
	var cases []Case
	section := "RTMP 5.4"
	add := func(title string, from phase, want Expectation, send func(*peer)) {
		cases = append(cases, rtmpCase(title, section, from, want, send))
	}
	raw := func(title string, want Expectation, typ rtmp.MessageType, payload []byte) {
		add(title, connected, want, func(p *peer) { p.send(p.control(typ, payload)) })
	}
	section = "RTMP 5.4.1"
	raw("Set Chunk Size 0", Closed, rtmp.TypeSetChunkSize, be32(0))
	raw("Set Chunk Size with its first bit set", Closed, rtmp.TypeSetChunkSize, be32(1<<31|128))
	raw("Set Chunk Size without payload", Closed, rtmp.TypeSetChunkSize, nil)
	raw("Set Chunk Size of 3 bytes", Closed, rtmp.TypeSetChunkSize, zeros(3))
	raw("Set Chunk Size of 5 bytes", Harmless, rtmp.TypeSetChunkSize, []byte{0, 1, 0, 0, 0})
	add("Set Chunk Size 2^31 - 1", connected, Served, func(p *peer) {
		p.setChunkSize(1<<31 - 1)
		p.size = longChunk
	})
	add("Set Chunk Size 1, 2, 3 ... 500", connected, Served, func(p *peer) {
		for n := range uint32(500) {
			p.setChunkSize(n + 1)
		}
	})
	add("20,000 times Set Chunk Size", connected, Harmless, func(p *peer) {
		for range 20_000 {
			p.send(p.control(rtmp.TypeSetChunkSize, be32(longChunk)))
		}
	})
	add("Set Chunk Size on a media chunk stream and message stream", connected, Harmless, func(p *peer) {
		p.send(p.message(6, rtmp.TypeSetChunkSize, 1, 0, be32(longChunk)))
	})
	add("a smaller chunk size inside a message", connected, Harmless, func(p *peer) {
		payload, _ := rtmp.AppendCommand(nil, "createStream", 7, nil)
		p.setChunkSize(16)
		p.send(basic(0, 5), header0(0, uint32(len(payload)), 20, 0), payload[:16])
		p.setChunkSize(4)
		for rest := payload[16:]; len(rest) > 0; rest = rest[min(4, len(rest)):] {
			p.send(basic(3, 5), rest[:min(4, len(rest))])
		}
	})
	section = "RTMP 5.4.2"
	raw("Abort of a chunk stream that was never used", Served, rtmp.TypeAbort, be32(77))
	raw("Abort of its own chunk stream", Served, rtmp.TypeAbort, be32(2))
	raw("Abort of chunk stream 2^32 - 1", Harmless, rtmp.TypeAbort, be32(1<<32-1))
	raw("Abort of 2 bytes", Harmless, rtmp.TypeAbort, zeros(2))
	add("Abort of half a message, and a whole one after it", connected, Served, func(p *peer) {
		p.setChunkSize(16)
		p.send(basic(0, 5), header0(0, 100, 20, 0), zeros(16))
		p.send(p.control(rtmp.TypeAbort, be32(5)))
	})
	add("a message that goes on after its Abort", connected, Harmless, func(p *peer) {
		p.send(basic(0, 5), header0(0, 2*longChunk-100, 8, 0), zeros(longChunk))
		p.send(p.control(rtmp.TypeAbort, be32(5)), basic(3, 5), zeros(longChunk-100))
	})
	section = "RTMP 5.4.3"
	raw("an Acknowledgement of bytes that were never sent", Served, rtmp.TypeAcknowledgement, be32(1<<32-1))
	raw("an Acknowledgement of 1 byte", Harmless, rtmp.TypeAcknowledgement, zeros(1))
	add("20,000 Acknowledgements", connected, Harmless, func(p *peer) {
		for i := range uint32(20_000) {
			p.send(p.control(rtmp.TypeAcknowledgement, be32(i)))
		}
	})
	section = "RTMP 5.4.4"
	raw("a window of 0 bytes", Harmless, rtmp.TypeWindowAckSize, be32(0))
	raw("a window of 1 byte: an answer to each byte", Harmless, rtmp.TypeWindowAckSize, be32(1))
	raw("a window of 2^32 - 1 bytes", Harmless, rtmp.TypeWindowAckSize, be32(1<<32-1))
	raw("a window of 2 bytes' length", Harmless, rtmp.TypeWindowAckSize, zeros(2))
	add("a window of 1 byte, and 200 KB of pictures", publishing, Harmless, func(p *peer) {
		p.send(p.control(rtmp.TypeWindowAckSize, be32(1)))
		for i := range 200 {
			p.send(p.media(rtmp.TypeVideo, uint32(i), append([]byte{0x27, 1, 0, 0, 0}, zeros(1000)...)...))
		}
	})
	section = "RTMP 5.4.5"
	raw("a bandwidth of 0", Harmless, rtmp.TypeSetPeerBandwidth, []byte{0, 0, 0, 0, 2})
	raw("a bandwidth with the unknown limit type 9", Harmless, rtmp.TypeSetPeerBandwidth, []byte{0, 1, 0, 0, 9})
	raw("a bandwidth of 4 bytes' length", Harmless, rtmp.TypeSetPeerBandwidth, be32(1))
	add("10,000 bandwidths", connected, Harmless, func(p *peer) {
		for i := range uint32(10_000) {
			p.send(p.control(rtmp.TypeSetPeerBandwidth, append(be32(1000+i), 2)))
		}
	})
	section = "RTMP 7.1.7"
	raw("a user control message without payload", Harmless, rtmp.TypeUserControl, nil)
	raw("a user control message of 1 byte", Harmless, rtmp.TypeUserControl, zeros(1))
	raw("the unknown user control event 100", Served, rtmp.TypeUserControl, append(be16(100), zeros(4)...))
	raw("Stream Begin from a client", Served, rtmp.TypeUserControl, append(be16(0), be32(1)...))
	raw("Stream EOF from a client, of a stream that is another's", Served, rtmp.TypeUserControl, append(be16(1), be32(1)...))
	raw("Set Buffer Length without its length", Harmless, rtmp.TypeUserControl, append(be16(3), be32(1)...))
	raw("Set Buffer Length of 2^32 - 1 ms", Served, rtmp.TypeUserControl, append(be16(3), append(be32(1), be32(1<<32-1)...)...))
	raw("a Ping Request of 2 bytes", Harmless, rtmp.TypeUserControl, be16(6))
	raw("a Ping Response that was not asked for", Served, rtmp.TypeUserControl, append(be16(7), be32(9)...))
	raw("a player's verification of 2,000 bytes", Harmless, rtmp.TypeUserControl, append(be16(27), zeros(2000)...))
	raw("a user control message of 60 KB", Harmless, rtmp.TypeUserControl, append(be16(0), zeros(60_000)...))
	add("a Ping Request has its Response", connected, Answered, func(p *peer) {
		p.send(p.control(rtmp.TypeUserControl, append(be16(6), pong[2:]...)))
	})
	add("a Ping Request while publishing has its Response", publishing, Answered, func(p *peer) {
		p.send(p.control(rtmp.TypeUserControl, append(be16(6), pong[2:]...)))
	})
	cases = append(cases, rtmpCase("50,000 Ping Requests, whose Responses are not read", section, connected, Harmless, func(p *peer) {
		for range 50_000 {
			p.send(p.control(rtmp.TypeUserControl, append(be16(6), pong[2:]...)))
		}
	}))
	return cases
}
