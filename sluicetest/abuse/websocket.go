package abuse

import (
	"encoding/binary"
	"time"
)

// frame is a WebSocket frame with its length in the shortest form, masked by zeros
// unless bare (RFC 6455, 5.2).
func frame(first byte, payload []byte, bare bool) []byte {
	mask := byte(0x80)
	if bare {
		mask = 0
	}
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, mask|byte(n))
	case n < 1<<16:
		b = append(b, mask|126, byte(n>>8), byte(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, mask|127), uint64(n))
	}
	if !bare {
		b = append(b, 0, 0, 0, 0)
	}
	return append(b, payload...)
}

// upgrade is what asks for WebSocket, but for the lines given.
var upgrade = []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}

// sockets are the cases of viewers by WebSocket.
func sockets() []Case {
	var cases []Case
	asks := func(title string, want Expectation, lines ...string) {
		cases = append(cases, httpCase(title, "RFC 6455, 4.2.1", want, func(b *browser) { b.send(b.head("GET", b.path(b.guard), lines...)) }))
	}
	asks("an upgrade without a key", Harmless, upgrade[:3]...)
	asks("an upgrade with a key of 3 bytes", Harmless, upgrade[0], upgrade[1], upgrade[2], "Sec-WebSocket-Key: abc")
	asks("an upgrade with two keys", Harmless, append(upgrade[:4:4], upgrade[3])...)
	asks("an upgrade of version 12", Harmless, upgrade[0], upgrade[1], "Sec-WebSocket-Version: 12", upgrade[3])
	asks("an upgrade to something else", Harmless, upgrade[0], "Upgrade: h2c", upgrade[2], upgrade[3])
	asks("an upgrade that Connection does not name", Harmless, "Connection: keep-alive", upgrade[1], upgrade[2], upgrade[3])
	asks("an upgrade with 2,000 extensions", Harmless, append(upgrade[:4:4], "Sec-WebSocket-Extensions: "+string(repeat("permessage-deflate, ", 2000))+"x")...)
	asks("an upgrade from another site", Harmless, append(upgrade[:4:4], "Origin: http://elsewhere.example")...)

	clause := "RFC 6455, 5.2"
	add := func(title string, want Expectation, send func(*browser)) {
		cases = append(cases, Case{Title: title, Clause: clause, Expect: want, run: func(t *try) result { return socketCase(t, want, send) }})
	}
	sends := func(title string, want Expectation, parts ...[]byte) {
		add(title, want, func(b *browser) { b.send(parts...) })
	}
	sends("a frame that is not masked", Closed, frame(0x82, zeros(10), true))
	sends("a frame with a reserved bit", Closed, frame(0xC2, zeros(10), false))
	sends("a frame of the reserved opcode 3", Closed, frame(0x83, zeros(10), false))
	sends("a control frame of the reserved opcode 11", Closed, frame(0x8B, nil, false))
	sends("a frame of 2^63 bytes", Closed, []byte{0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, zeros(100))
	sends("a frame of 2^62 bytes", Closed, []byte{0x82, 0xFF, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, zeros(100))
	sends("a length in a longer form than it needs", Harmless, []byte{0x8A, 0xFE, 0, 1, 0, 0, 0, 0, 'x'})
	clause = "RFC 6455, 5.4"
	sends("a continuation of nothing", Closed, frame(0x80, zeros(10), false))
	sends("a new message inside another", Closed, frame(0x02, zeros(10), false), frame(0x82, zeros(10), false))
	sends("10,000 pieces of one message", Harmless, frame(0x02, zeros(1), false), repeat(string(frame(0x00, zeros(1), false)), 10_000))
	clause = "RFC 6455, 5.5"
	sends("a ping of 126 bytes", Closed, frame(0x89, zeros(126), false))
	sends("a ping in pieces", Closed, frame(0x09, zeros(10), false))
	sends("a ping has its pong", Answered, frame(0x89, []byte("abuse"), false))
	sends("a pong that was not asked for", Served, frame(0x8A, []byte("abuse"), false))
	sends("20,000 pings", Harmless, repeat(string(frame(0x89, zeros(100), false)), 20_000))
	sends("a close without reason", Closed, frame(0x88, nil, false))
	sends("a close of 1 byte", Closed, frame(0x88, zeros(1), false))
	sends("a close with the reserved code 1005", Closed, frame(0x88, be16(1005), false))
	sends("a close with the code 0", Closed, frame(0x88, be16(0), false))
	sends("a close whose reason is not UTF-8", Closed, frame(0x88, append(be16(1000), 0xFF, 0xFE), false))
	sends("frames after a close", Closed, frame(0x88, be16(1000), false), frame(0x89, zeros(10), false))
	clause = "the server's own rules"
	sends("a text of a viewer", Harmless, frame(0x81, []byte("hello"), false))
	sends("a text that is not UTF-8", Harmless, frame(0x81, []byte{0xFF, 0xFE}, false))
	sends("4 MB from a viewer", Harmless, frame(0x82, zeros(4<<20), false))
	add("the end after half a frame", Closed, func(b *browser) { b.send([]byte{0x82, 0x80 | 100, 0, 0}); b.finish() })
	add("a ping a byte at a time", Answered, func(b *browser) { b.drip(frame(0x89, []byte("abuse"), false), 20*time.Millisecond) })
	return cases
}

// socketCase begins to watch the healthy stream by WebSocket, sends, and reads frames:
// served is one with media after what was sent.
func socketCase(t *try, want Expectation, send func(*browser)) result {
	if !t.open() {
		return silent
	}
	b := newBrowser(t)
	b.send(b.head("GET", b.path(b.guard), upgrade...))
	if r := b.outcome(); r != served {
		t.note = "no upgrade: " + t.note
		return silent
	}
	send(b)
	media := 0
	for {
		var head [10]byte
		first, n, err := b.frame(head[:])
		if err != nil {
			return closedBy(err)
		}
		switch opcode := first & 15; {
		case opcode == 8:
			return closed
		case opcode == 10 && want == Answered && n == 5:
			return answered
		case opcode == 2:
			// Some of what comes was on its way before.
			if media++; media > 100 && want != Closed && want != Answered {
				return served
			}
		}
	}
}
