package abuse

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/rtmp"
)

// commands are the cases of commands that come out of order, or with the wrong things.
func commands() []Case {
	var cases []Case
	section := "RTMP 7.2.2"
	add := func(title string, from phase, want Expectation, send func(*peer)) {
		cases = append(cases, rtmpCase(title, section, from, want, send))
	}
	one := func(title string, from phase, want Expectation, name string, transaction float64, args ...amf0.Value) {
		add(title, from, want, func(p *peer) { p.send(p.command(p.id, name, transaction, args...)) })
	}
	create := func(p *peer) bool {
		p.send(p.command(0, "createStream", 2, nil))
		return p.result(2) == nil
	}
	add("publish before connect", shaken, Refused, func(p *peer) { p.send(p.command(1, "publish", 2, nil, p.stream, "live")) })
	add("play before connect", shaken, Refused, func(p *peer) { p.send(p.command(1, "play", 2, nil, p.guard)) })
	add("createStream before connect", shaken, Harmless, func(p *peer) { p.send(p.command(0, "createStream", 2, nil)) })
	add("pictures before connect", shaken, Harmless, func(p *peer) { p.send(p.message(6, rtmp.TypeVideo, 1, 0, zeros(100))) })
	add("connect twice", connected, Harmless, func(p *peer) { p.send(p.connect(p.target.app)) })
	add("connect while publishing", publishing, Harmless, func(p *peer) { p.send(p.connect("other")) })
	one("an unknown command with a transaction", connected, Served, "noSuchCommand", 9, nil, "x")
	one("an unknown command without a transaction", connected, Served, "noSuchCommand", 0)
	one("getStreamLength, which common players ask", connected, Served, "getStreamLength", 9, nil, "x")
	one("a call of a method with a dot", connected, Served, "a.b.c", 9, nil)
	one("_result from a client", connected, Harmless, "_result", 1, nil)
	one("onStatus from a client", connected, Harmless, "onStatus", 0, nil, amf0.Object{{Name: "level", Value: "status"}, {Name: "code", Value: "NetStream.Publish.Start"}})
	one("deleteStream of a stream that is not there", connected, Harmless, "deleteStream", 0, nil, float64(1e9))
	one("closeStream without a stream", connected, Harmless, "closeStream", 0, nil)
	one("FCUnpublish without a stream", connected, Harmless, "FCUnpublish", 5, nil, "x")
	add("releaseStream of another's stream", connected, Served, func(p *peer) { p.send(p.command(0, "releaseStream", 5, nil, p.guard)) })
	add("FCUnpublish of another's stream", connected, Served, func(p *peer) { p.send(p.command(0, "FCUnpublish", 5, nil, p.guard)) })
	add("deleteStream of another's stream number", connected, Harmless, func(p *peer) {
		for n := range 64 {
			p.send(p.command(0, "deleteStream", 0, nil, float64(n)))
		}
	})
	add("publish of another's stream", connected, Refused, func(p *peer) {
		if create(p) {
			p.send(p.command(p.id, "publish", 3, nil, strings.SplitN(p.guard, "?", 2)[0], "live"))
		}
	})
	add("publish on a stream that was never created", connected, Harmless, func(p *peer) { p.send(p.command(9, "publish", 3, nil, p.stream, "live")) })
	add("publish on message stream 0", connected, Harmless, func(p *peer) { p.send(p.command(0, "publish", 3, nil, p.stream, "live")) })
	add("publish twice", publishing, Harmless, func(p *peer) { p.send(p.command(p.id, "publish", 4, nil, p.stream, "live")) })
	add("publish of a second name on the same stream", publishing, Harmless, func(p *peer) { p.send(p.command(p.id, "publish", 4, nil, p.stream+"b", "live")) })
	add("play while publishing", publishing, Harmless, func(p *peer) { p.send(p.command(p.id, "play", 4, nil, p.guard)) })
	add("publish while playing", playing, Harmless, func(p *peer) { p.send(p.command(p.id, "publish", 4, nil, p.stream, "live")) })
	names := []struct {
		title string
		name  amf0.Value
	}{
		{"an empty name", ""}, {"null as name", nil}, {"a number as name", 7.0}, {"a name of 60,000 bytes", strings.Repeat("n", 60_000)},
		{"the name ../../../etc/passwd", "../../../etc/passwd"}, {"a name with a zero byte", "a\x00b"}, {"a name with line feeds", "a\r\nb"},
		{"a name of a query alone", "?a=b"}, {"a name with %00 and %2e%2e%2f", "%2e%2e%2f%00"}, {"a name with <script>", "<script>alert(1)</script>"},
		{"a name that is not UTF-8", "\xFF\xFE"}, {"a name that turns the direction of writing", "a\u202Egpj.exe"}, {"a name of dots", ".."},
		{"a name with an absolute path", "/etc/passwd"}, {"a name with a broken query", "x?a=%zz&&&=&"}, {"a name with a query of 30,000 bytes", "x?" + strings.Repeat("a=b&", 7500)},
	}
	for _, n := range names {
		add("publish with "+n.title, connected, Harmless, func(p *peer) {
			if create(p) {
				p.send(p.command(p.id, "publish", 3, nil, n.name, "live"))
			}
		})
	}
	for _, n := range names[:8] {
		add("play with "+n.title, connected, Harmless, func(p *peer) {
			if create(p) {
				p.send(p.command(p.id, "play", 3, nil, n.name))
			}
		})
	}
	for _, kind := range []amf0.Value{"record", "append", "bogus", 7.0, nil} {
		add(fmt.Sprintf("publish of the kind %v", kind), connected, Harmless, func(p *peer) {
			if create(p) {
				p.send(p.command(p.id, "publish", 3, nil, p.stream, kind))
			}
		})
	}
	for _, start := range []float64{-1000, 1e300, math.NaN()} {
		add(fmt.Sprintf("play from %v", start), connected, Harmless, func(p *peer) {
			if create(p) {
				p.send(p.command(p.id, "play", 3, nil, p.guard, start, start, true))
			}
		})
	}
	one("pause before play", connected, Harmless, "pause", 0, nil, true, 0.0)
	one("seek of a live stream", playing, Harmless, "seek", 0, nil, 1e9)
	one("pause, with a time that is not a number", playing, Harmless, "pause", 0, nil, true, math.NaN())
	one("receiveVideo and no argument", playing, Harmless, "receiveVideo", 0, nil)
	add("5,000 times pause and play on", playing, Harmless, func(p *peer) {
		for i := range 5000 {
			p.send(p.command(p.id, "pause", 0, nil, i%2 == 0, 0.0))
		}
	})
	add("5,000 times createStream", connected, Harmless, func(p *peer) {
		for range 5000 {
			p.send(p.command(0, "createStream", 6, nil))
		}
	})
	add("pictures from a player", playing, Harmless, func(p *peer) {
		for i := range 100 {
			p.send(p.media(rtmp.TypeVideo, uint32(i), append([]byte{0x27, 1, 0, 0, 0}, zeros(100)...)...))
		}
	})
	add("pictures after the stream was deleted", publishing, Harmless, func(p *peer) {
		p.send(p.command(0, "deleteStream", 0, nil, float64(p.id)))
		p.send(p.media(rtmp.TypeVideo, 0, append([]byte{0x17, 1, 0, 0, 0}, zeros(100)...)...))
	})
	add("publish, delete and publish again, 50 times", connected, Harmless, func(p *peer) {
		for range 50 {
			if !create(p) {
				return
			}
			p.send(p.command(p.id, "publish", 3, nil, p.stream, "live"))
			if p.status("NetStream.Publish.Start") != nil {
				return
			}
			p.send(p.command(0, "deleteStream", 0, nil, float64(p.id)))
		}
	})
	cases = append(cases,
		late(rtmpCase("nothing after connect", section, connected, Harmless, func(p *peer) { p.reads(p.within) })),
		late(rtmpCase("nothing after publish", section, publishing, Harmless, func(p *peer) { p.reads(p.within) })),
		leaves("a viewer that never reads and leaves", section, playing, func(*peer) { <-time.After(3 * time.Second) }),
		leaves("a publisher that is cut off in the middle of a frame", section, publishing, func(p *peer) {
			p.send(basic(0, 6), header0(0, 10_000, 9, p.id), zeros(3000))
		}),
	)
	return cases
}

// leaves is a case in which the client closes. What is judged is that the next one is
// served.
func leaves(title, clause string, from phase, before func(*peer)) Case {
	return Case{Title: title, Clause: clause, Expect: Served, run: func(t *try) result {
		p, ok := newPeer(t, from)
		if !ok {
			return silent
		}
		before(p)
		p.in.Recycle()
		next, ok := newPeer(t, from)
		if !ok {
			return silent
		}
		defer next.in.Recycle()
		return next.outcome(Served)
	}}
}
