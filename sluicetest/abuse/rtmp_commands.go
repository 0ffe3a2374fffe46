package abuse

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/rtmp"
)

// commanding is the section of the specification on the commands of a stream.
const commanding = "RTMP 7.2.2"

// commands are the cases of commands that come out of order, or with the wrong things.
func commands() []Case {
	return slices.Concat(beforeConnect(), unexpectedCommands(), anothersStream(), streamsInUse(), streamNames(), commandArguments(),
		playerCommands(), manyCommands(), departures())
}

// command adds a case of one command.
func (s *section) command(title string, from phase, want Expectation, name string, transaction float64, args ...amf0.Value) {
	s.rtmp(title, from, want, func(p *peer) { p.send(p.command(p.id, name, transaction, args...)) })
}

// creates creates a stream, and reports whether the server has granted it.
func (p *peer) creates() bool {
	p.send(p.command(0, "createStream", 2, nil))
	return p.result(2) == nil
}

// beforeConnect are commands before connect, and a second connect.
func beforeConnect() []Case {
	s := section{clause: commanding}
	s.rtmp("publish before connect", shaken, Refused, func(p *peer) { p.send(p.command(1, "publish", 2, nil, p.stream, "live")) })
	s.rtmp("play before connect", shaken, Refused, func(p *peer) { p.send(p.command(1, "play", 2, nil, p.guard)) })
	s.rtmp("createStream before connect", shaken, Harmless, func(p *peer) { p.send(p.command(0, "createStream", 2, nil)) })
	s.rtmp("pictures before connect", shaken, Harmless, func(p *peer) { p.send(p.message(6, rtmp.TypeVideo, 1, 0, zeros(100))) })
	s.rtmp("connect twice", connected, Harmless, func(p *peer) { p.send(p.connect(p.target.app)) })
	s.rtmp("connect while publishing", publishing, Harmless, func(p *peer) { p.send(p.connect("other")) })
	return s.cases
}

// unexpectedCommands are unknown, or a server's, or about streams that are not there.
func unexpectedCommands() []Case {
	s := section{clause: commanding}
	s.command("an unknown command with a transaction", connected, Served, "noSuchCommand", 9, nil, "x")
	s.command("an unknown command without a transaction", connected, Served, "noSuchCommand", 0)
	s.command("getStreamLength, which common players ask", connected, Served, "getStreamLength", 9, nil, "x")
	s.command("a call of a method with a dot", connected, Served, "a.b.c", 9, nil)
	s.command("_result from a client", connected, Harmless, "_result", 1, nil)
	s.command("onStatus from a client", connected, Harmless, "onStatus", 0, nil, amf0.Object{{Name: "level", Value: "status"}, {Name: "code", Value: "NetStream.Publish.Start"}})
	s.command("deleteStream of a stream that is not there", connected, Harmless, "deleteStream", 0, nil, float64(1e9))
	s.command("closeStream without a stream", connected, Harmless, "closeStream", 0, nil)
	s.command("FCUnpublish without a stream", connected, Harmless, "FCUnpublish", 5, nil, "x")
	return s.cases
}

// anothersStream are commands about a stream that another client publishes.
func anothersStream() []Case {
	s := section{clause: commanding}
	s.rtmp("releaseStream of another's stream", connected, Served, func(p *peer) { p.send(p.command(0, "releaseStream", 5, nil, p.guard)) })
	s.rtmp("FCUnpublish of another's stream", connected, Served, func(p *peer) { p.send(p.command(0, "FCUnpublish", 5, nil, p.guard)) })
	s.rtmp("deleteStream of another's stream number", connected, Harmless, func(p *peer) {
		for n := range 64 {
			p.send(p.command(0, "deleteStream", 0, nil, float64(n)))
		}
	})
	s.rtmp("publish of another's stream", connected, Refused, func(p *peer) {
		if p.creates() {
			p.send(p.command(p.id, "publish", 3, nil, strings.SplitN(p.guard, "?", 2)[0], "live"))
		}
	})
	return s.cases
}

// streamsInUse publish or play on a stream that is in use, or was never created.
func streamsInUse() []Case {
	s := section{clause: commanding}
	s.rtmp("publish on a stream that was never created", connected, Harmless, func(p *peer) { p.send(p.command(9, "publish", 3, nil, p.stream, "live")) })
	s.rtmp("publish on message stream 0", connected, Harmless, func(p *peer) { p.send(p.command(0, "publish", 3, nil, p.stream, "live")) })
	s.rtmp("publish twice", publishing, Harmless, func(p *peer) { p.send(p.command(p.id, "publish", 4, nil, p.stream, "live")) })
	s.rtmp("publish of a second name on the same stream", publishing, Harmless, func(p *peer) { p.send(p.command(p.id, "publish", 4, nil, p.stream+"b", "live")) })
	s.rtmp("play while publishing", publishing, Harmless, func(p *peer) { p.send(p.command(p.id, "play", 4, nil, p.guard)) })
	s.rtmp("publish while playing", playing, Harmless, func(p *peer) { p.send(p.command(p.id, "publish", 4, nil, p.stream, "live")) })
	return s.cases
}

// streamNames are names that no stream should have.
func streamNames() []Case {
	s := section{clause: commanding}
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
		s.rtmp("publish with "+n.title, connected, Harmless, func(p *peer) {
			if p.creates() {
				p.send(p.command(p.id, "publish", 3, nil, n.name, "live"))
			}
		})
	}
	for _, n := range names[:8] {
		s.rtmp("play with "+n.title, connected, Harmless, func(p *peer) {
			if p.creates() {
				p.send(p.command(p.id, "play", 3, nil, n.name))
			}
		})
	}
	return s.cases
}

// commandArguments are what publish and play have behind the name.
func commandArguments() []Case {
	s := section{clause: commanding}
	for _, kind := range []amf0.Value{"record", "append", "bogus", 7.0, nil} {
		s.rtmp(fmt.Sprintf("publish of the kind %v", kind), connected, Harmless, func(p *peer) {
			if p.creates() {
				p.send(p.command(p.id, "publish", 3, nil, p.stream, kind))
			}
		})
	}
	for _, start := range []float64{-1000, 1e300, math.NaN()} {
		s.rtmp(fmt.Sprintf("play from %v", start), connected, Harmless, func(p *peer) {
			if p.creates() {
				p.send(p.command(p.id, "play", 3, nil, p.guard, start, start, true))
			}
		})
	}
	return s.cases
}

// playerCommands are those of a player.
func playerCommands() []Case {
	s := section{clause: commanding}
	s.command("pause before play", connected, Harmless, "pause", 0, nil, true, 0.0)
	s.command("seek of a live stream", playing, Harmless, "seek", 0, nil, 1e9)
	s.command("pause, with a time that is not a number", playing, Harmless, "pause", 0, nil, true, math.NaN())
	s.command("receiveVideo and no argument", playing, Harmless, "receiveVideo", 0, nil)
	return s.cases
}

// manyCommands are thousands of them, and pictures where none belong.
func manyCommands() []Case {
	s := section{clause: commanding}
	s.rtmp("5,000 times pause and play on", playing, Harmless, func(p *peer) {
		for i := range 5000 {
			p.send(p.command(p.id, "pause", 0, nil, i%2 == 0, 0.0))
		}
	})
	s.rtmp("5,000 times createStream", connected, Harmless, func(p *peer) {
		for range 5000 {
			p.send(p.command(0, "createStream", 6, nil))
		}
	})
	s.rtmp("pictures from a player", playing, Harmless, func(p *peer) {
		for i := range 100 {
			p.send(p.media(rtmp.TypeVideo, uint32(i), append([]byte{0x27, 1, 0, 0, 0}, zeros(100)...)...))
		}
	})
	s.rtmp("pictures after the stream was deleted", publishing, Harmless, func(p *peer) {
		p.send(p.command(0, "deleteStream", 0, nil, float64(p.id)))
		p.send(p.media(rtmp.TypeVideo, 0, append([]byte{0x17, 1, 0, 0, 0}, zeros(100)...)...))
	})
	s.rtmp("publish, delete and publish again, 50 times", connected, Harmless, func(p *peer) {
		for range 50 {
			if !p.creates() {
				return
			}
			p.send(p.command(p.id, "publish", 3, nil, p.stream, "live"))
			if p.status("NetStream.Publish.Start") != nil {
				return
			}
			p.send(p.command(0, "deleteStream", 0, nil, float64(p.id)))
		}
	})
	return s.cases
}

// departures are clients that do nothing more, or leave.
func departures() []Case {
	s := section{clause: commanding}
	s.rtmpLate("nothing after connect", connected, Harmless, func(p *peer) { p.reads(p.within) })
	s.rtmpLate("nothing after publish", publishing, Harmless, func(p *peer) { p.reads(p.within) })
	return append(s.cases,
		leaves("a viewer that never reads and leaves", commanding, playing, func(*peer) { <-time.After(3 * time.Second) }),
		leaves("a publisher that is cut off in the middle of a frame", commanding, publishing, func(p *peer) {
			p.send(basic(0, 6), header0(0, 10_000, 9, p.id), zeros(3000))
		}),
	)
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
