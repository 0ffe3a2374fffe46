package abuse

import (
	"bytes"
	"net"
	"slices"
	"time"
)

// handshaking is the section of the specification about the handshake.
const handshaking = "RTMP 5.2"

// handshakes are the cases of it.
func handshakes() []Case { return slices.Concat(brokenHandshakes(), unusualHandshakes()) }

// brokenHandshakes stop, end, or are another protocol's.
func brokenHandshakes() []Case {
	first := func(b ...byte) func(*peer) { return func(p *peer) { p.send(b) } }
	version := func(v byte) func(*peer) {
		return func(p *peer) {
			b := hello()
			b[0] = v
			p.send(b)
		}
	}
	return []Case{
		late(rtmpCase("nothing is sent", handshaking, atOnce, Closed, func(*peer) {})),
		late(rtmpCase("only the version is sent", handshaking, atOnce, Closed, first(3))),
		late(rtmpCase("half of C1 is sent", handshaking, atOnce, Closed, func(p *peer) { p.send(hello()[:700]) })),
		late(rtmpCase("C1 lacks its last byte", handshaking, atOnce, Closed, func(p *peer) { p.send(hello()[:handshakePart]) })),
		late(rtmpCase("C2 is never sent", handshaking, atOnce, Closed, func(p *peer) { p.send(hello()[:1+handshakePart]) })),
		late(rtmpCase("half of C2 is sent", handshaking, atOnce, Closed, func(p *peer) { p.send(hello()[:2000]) })),
		late(rtmpCase("nothing after the handshake", handshaking, shaken, Closed, func(*peer) {})),
		late(rtmpCase("a byte of the handshake every 200 ms", handshaking, atOnce, Closed, func(p *peer) { p.drip(hello(), 200*time.Millisecond) })),
		versionCase(0), versionCase(1), versionCase(2), versionCase(4), versionCase(6), versionCase(31),
		rtmpCase("version 32, which is for text protocols", "RTMP 5.2.2", atOnce, Closed, version(32)),
		rtmpCase("version 255", "RTMP 5.2.2", atOnce, Closed, version(255)),
		rtmpCase("an HTTP request", "RTMP 5.2.2", atOnce, Closed, first([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")...)),
		rtmpCase("a TLS hello", "RTMP 5.2.2", atOnce, Closed, first(append([]byte{22, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3}, zeros(500)...)...)),
		rtmpCase("an SSH banner", "RTMP 5.2.2", atOnce, Closed, first([]byte("SSH-2.0-OpenSSH_9.9\r\n")...)),
		rtmpCase("4 MB of one letter", "RTMP 5.2.2", atOnce, Closed, first(bytes.Repeat([]byte{'A'}, 4<<20)...)),
		rtmpCase("the end after the version", handshaking, atOnce, Closed, func(p *peer) { p.send([]byte{3}); p.finish() }),
		rtmpCase("the end inside C1", handshaking, atOnce, Closed, func(p *peer) { p.send(hello()[:900]); p.finish() }),
		rtmpCase("the end inside C2", handshaking, atOnce, Closed, func(p *peer) { p.send(hello()[:2500]); p.finish() }),
		rtmpCase("the end after the handshake", handshaking, atOnce, Closed, func(p *peer) { p.send(hello()); p.finish() }),
		rtmpCase("a second handshake after the first", handshaking, shaken, Closed, func(p *peer) { p.send(bytes.Repeat([]byte{3}, 1+2*handshakePart)) }),
		resetCase("a reset inside C1", 700),
		resetCase("a reset after the handshake", 1+2*handshakePart),
	}
}

// unusualHandshakes are in order, and have to be served.
func unusualHandshakes() []Case {
	proper := func(title string, begin func(*peer)) Case {
		return rtmpBegin(title, handshaking, begin)
	}
	return []Case{
		proper("C0, C1, C2 and connect in one piece", func(p *peer) { p.send(join(hello(), p.connect(p.target.app))) }),
		proper("each byte of the handshake by itself", func(p *peer) {
			for _, b := range hello() {
				p.send([]byte{b})
			}
			p.send(p.connect(p.target.app))
		}),
		proper("C1 with a time of 2^32 - 1", func(p *peer) {
			h := hello()
			copy(h[1:], be32(1<<32-1))
			p.send(join(h, p.connect(p.target.app)))
		}),
		proper("C1 whose four zero bytes are not", func(p *peer) {
			h := hello()
			copy(h[5:], "\xDE\xAD\xBE\xEF")
			p.send(join(h, p.connect(p.target.app)))
		}),
		proper("C1 that looks as if it had a digest", func(p *peer) {
			h := hello()
			copy(h[5:], "\x80\x00\x07\x02")
			for i := 9; i <= handshakePart; i++ {
				h[i] = 0xFF // also the places where the digest's offset stands
			}
			p.send(join(h, p.connect(p.target.app)))
		}),
		proper("C2 of random bytes", func(p *peer) {
			h := hello()
			for i := 1 + handshakePart; i < len(h); i++ {
				h[i] = byte(i * 167)
			}
			p.send(join(h, p.connect(p.target.app)))
		}),
	}
}

// versionCase asks for a version that a server answers with its own, or refuses.
func versionCase(v byte) Case {
	title := map[byte]string{0: "version 0", 1: "version 1", 2: "version 2", 4: "version 4", 6: "version 6, encrypted", 31: "version 31"}[v]
	return Case{Title: title, Clause: "RTMP 5.2.2", Expect: Harmless, run: func(t *try) result {
		if !t.open() {
			return silent
		}
		h := hello()
		h[0] = v
		t.send(h[:1+handshakePart])
		var s [1]byte
		n, err := t.conn.Read(s[:])
		switch {
		case n == 0:
			return closedBy(err)
		case s[0] == 3 || s[0] == v:
			return served
		}
		t.note = "the server's version is another one"
		return silent
	}}
}

// resetCase sends a part of the handshake and resets the connection. What is judged is
// that the next client is served.
func resetCase(title string, n int) Case {
	return Case{Title: title, Clause: handshaking, Expect: Served, run: func(t *try) result {
		if !t.open() {
			return silent
		}
		t.send(hello()[:n])
		if c, ok := t.conn.(*net.TCPConn); ok {
			_ = c.SetLinger(0)
		}
		_ = t.conn.Close()
		p, ok := newPeer(t, connected)
		if !ok {
			return silent
		}
		defer p.in.Recycle()
		return p.outcome(Served)
	}}
}

// rtmpBegin is a case whose handshake and connect are begin's, and which then has to be
// served.
func rtmpBegin(title, clause string, begin func(*peer)) Case {
	return Case{Title: title, Clause: clause, Expect: Served, run: func(t *try) result {
		p, ok := newPeer(t, atOnce)
		if !ok {
			return silent
		}
		defer p.in.Recycle()
		begin(p)
		if err := p.shake(); err != nil {
			t.note = err.Error()
			return closedBy(err)
		}
		if err := p.result(1); err != nil {
			t.note = err.Error()
			return closedBy(err)
		}
		return p.outcome(Served)
	}}
}
