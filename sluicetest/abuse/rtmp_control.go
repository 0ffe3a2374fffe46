package abuse

import (
	"slices"

	"github.com/sluice-go/sluice/rtmp"
)

// controls are the cases of protocol control and user control messages.
func controls() []Case {
	return slices.Concat(setChunkSizes(), aborts(), acknowledgements(), windows(), bandwidths(), userControls())
}

// control adds a case of one control message of a client that has connected.
func (s *section) control(title string, want Expectation, typ rtmp.MessageType, payload []byte) {
	s.rtmp(title, connected, want, func(p *peer) { p.send(p.control(typ, payload)) })
}

// setChunkSizes are sizes that cannot be, that change often, or inside a message.
func setChunkSizes() []Case {
	s := section{clause: "RTMP 5.4.1"}
	s.control("Set Chunk Size 0", Closed, rtmp.TypeSetChunkSize, be32(0))
	s.control("Set Chunk Size with its first bit set", Closed, rtmp.TypeSetChunkSize, be32(1<<31|128))
	s.control("Set Chunk Size without payload", Closed, rtmp.TypeSetChunkSize, nil)
	s.control("Set Chunk Size of 3 bytes", Closed, rtmp.TypeSetChunkSize, zeros(3))
	s.control("Set Chunk Size of 5 bytes", Harmless, rtmp.TypeSetChunkSize, []byte{0, 1, 0, 0, 0})
	s.rtmp("Set Chunk Size 2^31 - 1", connected, Served, func(p *peer) {
		p.setChunkSize(1<<31 - 1)
		p.size = longChunk
	})
	s.rtmp("Set Chunk Size 1, 2, 3 ... 500", connected, Served, func(p *peer) {
		for n := range uint32(500) {
			p.setChunkSize(n + 1)
		}
	})
	s.rtmp("20,000 times Set Chunk Size", connected, Harmless, func(p *peer) {
		for range 20_000 {
			p.send(p.control(rtmp.TypeSetChunkSize, be32(longChunk)))
		}
	})
	s.rtmp("Set Chunk Size on a media chunk stream and message stream", connected, Harmless, func(p *peer) {
		p.send(p.message(6, rtmp.TypeSetChunkSize, 1, 0, be32(longChunk)))
	})
	s.rtmp("a smaller chunk size inside a message", connected, Harmless, func(p *peer) {
		p.setChunkSize(16)
		p.send(basic(0, 5), createHeader(0), createPayload[:16])
		p.setChunkSize(4)
		for rest := createPayload[16:]; len(rest) > 0; rest = rest[min(4, len(rest)):] {
			p.send(basic(3, 5), rest[:min(4, len(rest))])
		}
	})
	return s.cases
}

// aborts are messages that are given up, or were never begun.
func aborts() []Case {
	s := section{clause: "RTMP 5.4.2"}
	s.control("Abort of a chunk stream that was never used", Served, rtmp.TypeAbort, be32(77))
	s.control("Abort of its own chunk stream", Served, rtmp.TypeAbort, be32(2))
	s.control("Abort of chunk stream 2^32 - 1", Harmless, rtmp.TypeAbort, be32(1<<32-1))
	s.control("Abort of 2 bytes", Harmless, rtmp.TypeAbort, zeros(2))
	s.rtmp("Abort of half a message, and a whole one after it", connected, Served, func(p *peer) {
		p.setChunkSize(16)
		p.send(basic(0, 5), header0(0, 100, 20, 0), zeros(16))
		p.send(p.control(rtmp.TypeAbort, be32(5)))
	})
	s.rtmp("a message that goes on after its Abort", connected, Harmless, func(p *peer) {
		p.send(basic(0, 5), header0(0, 2*longChunk-100, 8, 0), zeros(longChunk))
		p.send(p.control(rtmp.TypeAbort, be32(5)), basic(3, 5), zeros(longChunk-100))
	})
	return s.cases
}

// acknowledgements are of bytes that were never sent, or too many.
func acknowledgements() []Case {
	s := section{clause: "RTMP 5.4.3"}
	s.control("an Acknowledgement of bytes that were never sent", Served, rtmp.TypeAcknowledgement, be32(1<<32-1))
	s.control("an Acknowledgement of 1 byte", Harmless, rtmp.TypeAcknowledgement, zeros(1))
	s.rtmp("20,000 Acknowledgements", connected, Harmless, func(p *peer) {
		for i := range uint32(20_000) {
			p.send(p.control(rtmp.TypeAcknowledgement, be32(i)))
		}
	})
	return s.cases
}

// windows are numbers of bytes after which a server has to acknowledge.
func windows() []Case {
	s := section{clause: "RTMP 5.4.4"}
	s.control("a window of 0 bytes", Harmless, rtmp.TypeWindowAckSize, be32(0))
	s.control("a window of 1 byte: an answer to each byte", Harmless, rtmp.TypeWindowAckSize, be32(1))
	s.control("a window of 2^32 - 1 bytes", Harmless, rtmp.TypeWindowAckSize, be32(1<<32-1))
	s.control("a window of 2 bytes' length", Harmless, rtmp.TypeWindowAckSize, zeros(2))
	s.rtmp("a window of 1 byte, and 200 KB of pictures", publishing, Harmless, func(p *peer) {
		p.send(p.control(rtmp.TypeWindowAckSize, be32(1)))
		for i := range 200 {
			p.send(p.media(rtmp.TypeVideo, uint32(i), append([]byte{0x27, 1, 0, 0, 0}, zeros(1000)...)...))
		}
	})
	return s.cases
}

// bandwidths are limits that a client sets to the server.
func bandwidths() []Case {
	s := section{clause: "RTMP 5.4.5"}
	s.control("a bandwidth of 0", Harmless, rtmp.TypeSetPeerBandwidth, []byte{0, 0, 0, 0, 2})
	s.control("a bandwidth with the unknown limit type 9", Harmless, rtmp.TypeSetPeerBandwidth, []byte{0, 1, 0, 0, 9})
	s.control("a bandwidth of 4 bytes' length", Harmless, rtmp.TypeSetPeerBandwidth, be32(1))
	s.rtmp("10,000 bandwidths", connected, Harmless, func(p *peer) {
		for i := range uint32(10_000) {
			p.send(p.control(rtmp.TypeSetPeerBandwidth, append(be32(1000+i), 2)))
		}
	})
	return s.cases
}

// userControls are events that a client has no business to send, pings among them.
func userControls() []Case {
	s := section{clause: "RTMP 7.1.7"}
	s.control("a user control message without payload", Harmless, rtmp.TypeUserControl, nil)
	s.control("a user control message of 1 byte", Harmless, rtmp.TypeUserControl, zeros(1))
	s.control("the unknown user control event 100", Served, rtmp.TypeUserControl, append(be16(100), zeros(4)...))
	s.control("Stream Begin from a client", Served, rtmp.TypeUserControl, append(be16(0), be32(1)...))
	s.control("Stream EOF from a client, of a stream that is another's", Served, rtmp.TypeUserControl, append(be16(1), be32(1)...))
	s.control("Set Buffer Length without its length", Harmless, rtmp.TypeUserControl, append(be16(3), be32(1)...))
	s.control("Set Buffer Length of 2^32 - 1 ms", Served, rtmp.TypeUserControl, append(be16(3), append(be32(1), be32(1<<32-1)...)...))
	s.control("a Ping Request of 2 bytes", Harmless, rtmp.TypeUserControl, be16(6))
	s.control("a Ping Response that was not asked for", Served, rtmp.TypeUserControl, append(be16(7), be32(9)...))
	s.control("a player's verification of 2,000 bytes", Harmless, rtmp.TypeUserControl, append(be16(27), zeros(2000)...))
	s.control("a user control message of 60 KB", Harmless, rtmp.TypeUserControl, append(be16(0), zeros(60_000)...))
	s.rtmp("a Ping Request has its Response", connected, Answered, func(p *peer) {
		p.send(p.control(rtmp.TypeUserControl, append(be16(6), pong[2:]...)))
	})
	s.rtmp("a Ping Request while publishing has its Response", publishing, Answered, func(p *peer) {
		p.send(p.control(rtmp.TypeUserControl, append(be16(6), pong[2:]...)))
	})
	s.rtmp("50,000 Ping Requests, whose Responses are not read", connected, Harmless, func(p *peer) {
		for range 50_000 {
			p.send(p.control(rtmp.TypeUserControl, append(be16(6), pong[2:]...)))
		}
	})
	return s.cases
}
