//go:build linux

package relay

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/internal/testcert"
)

// Viewers over TLS, which cannot be handed over, get everything up to a key frame; who comes
// back at once is the successor's.
func TestUpgradeEndsViewersOverTLSAtAKeyFrame(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) {
		c.RTMP, c.RTMPS, c.HTTPS, c.Grace = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", 0
		c.Cert, c.Key = testcert.Files(t)
	})
	x := newCrossing(t)
	x.publish(s, "a")
	relayEventually(t, "the stream", func() bool { _, ok := s.host.Hub.Stream("live/a"); return ok })
	x.watch(s, "live/a", 0)
	type end struct {
		protocol    string
		first, last rtmpFrame
		lost        bool
		err         error
	}
	ends := make(chan end, 3)
	for protocol, next := range x.viewers(s, "live/a", true) {
		go func() {
			e := end{protocol: protocol}
			for n := 0; ; n++ {
				f, err := next()
				if err != nil {
					e.err = err
					ends <- e
					return
				}
				if ofHeader(f) {
					n--
					continue
				}
				if n == 0 {
					e.first = f
				} else if number(f) != number(e.last)+1 {
					e.lost = true
				}
				e.last = f
			}
		}()
	}
	s.viewersOf(t, "live/a", 6)
	x.frames(100)
	old := s
	s = upgradeRelay(t, s)
	for range cap(ends) {
		e := <-ends
		if !errors.Is(e.err, io.EOF) || e.lost || number(e.first)%keyEvery != 0 || number(e.last)%keyEvery != keyEvery-1 {
			t.Errorf("%s: frames %d to %d, lost %v, %v", e.protocol, number(e.first), number(e.last), e.lost, e.err)
		}
	}
	old.log.line(t, "viewers that cannot be handed over end at a key frame", "flvs:1", "rtmps:1", "wss:1")
	ended := 0
	events, _ := old.web.Recent.After(0)
	for _, e := range events {
		if e.Event == "play_end" && e.Code == "upgrade" {
			ended++
		}
	}
	if ended != 3 {
		t.Errorf("%d events of an end for the upgrade in %+v", ended, events)
	}
	for protocol, next := range x.viewers(s, "live/a", true) {
		x.collect("the next "+protocol+" viewer over TLS", "live/a", next)
	}
	s.viewersOf(t, "live/a", 6)
	if n := s.host.Register.Number("viewer"); n != 6 {
		t.Errorf("the register counts %d viewers", n)
	}
	x.frames(50)
	x.finish()
}

// number is that of a frame of a crossing.
func number(f rtmpFrame) int {
	if len(f.Body) < 9 {
		return -1
	}
	return int(binary.BigEndian.Uint32([]byte(f.Body[5:])))
}

// A session that is ended between the moment when its state was sent and the one when it was
// taken does not go on in the other process.
func TestKickDuringTheHandover(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.RTMP = "127.0.0.1:0" })
	push := rtmpPush(t, s.Server, "rtmp", "live", "a")
	if err := push.send(rtmpClip()[:10]); err != nil {
		t.Fatal(err)
	}
	// The viewer that is kicked has another stream, which goes on: else it may see the end
	// of its stream first.
	other := rtmpPush(t, s.Server, "rtmp", "live", "b")
	if err := other.send(rtmpClip()[:10]); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"live/a", "live/b"} {
		relayEventually(t, name, func() bool { _, ok := s.host.Hub.Stream(name); return ok })
	}
	_, kicked := s.playing(t, "/live/b.flv")
	s.viewersOf(t, "live/b", 1)
	_, stays := s.playing(t, "/live/a.flv")
	s.viewersOf(t, "live/a", 1)

	relayEventually(t, "sessions that can be given away", func() bool {
		list := s.host.Register.List()
		return !slices.ContainsFunc(list, func(c *session.Client) bool { return c.Mover() == nil })
	})
	next := upgradeRelayAfter(t, s, func() {
		for _, id := range []string{"p1", "v1"} {
			if client, ok := s.host.Register.Get(id); ok {
				client.Stop(session.ErrKicked)
			}
		}
	})
	if _, err := push.status(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the publisher: %v", err)
	}
	for who, r := range map[string]*flvtest.Reader{"kicked": kicked, "other": stays} {
		_, err := r.Next()
		for err == nil {
			_, err = r.Next()
		}
		if (who == "other") != errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the %s viewer: %v", who, err)
		}
	}
	s.log.line(t, "session was to end during the handover", "id=p1", "reason=kicked")
	other.conn.Close()
	relayEventually(t, "the end of all sessions", func() bool { return len(next.host.Register.List()) == 0 })
}
