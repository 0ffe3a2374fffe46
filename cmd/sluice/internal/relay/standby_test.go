package relay

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hooks"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/web"
	"github.com/sluice-go/sluice/flv"
)

// encoderTags are pictures that name their encoder, the first of them a key frame, from
// a number on.
func encoderTags(name string, from, n int) []flvtest.Tag {
	tags := []flvtest.Tag{{Type: flv.TagVideo, Time: uint32(40 * from), Payload: "\x17\x00\x00\x00\x00config"}}
	for i := range n {
		head := "\x27\x01\x00\x00\x00"
		if i == 0 {
			head = "\x17\x01\x00\x00\x00"
		}
		tags = append(tags, flvtest.Tag{Type: flv.TagVideo, Time: uint32(40 * (from + i)), Payload: head + fmt.Sprintf("picture %s%d", name, from+i)})
	}
	return tags
}

// waits waits until a stream has so many publishers that stand by.
func (s *relayServer) waits(t *testing.T, stream string, n int) {
	t.Helper()
	relayEventually(t, fmt.Sprintf("%d publishers stand by", n), func() bool {
		st, ok := s.host.Hub.Stream(stream)
		return ok && len(st.Waiting()) == n
	})
}

// rising checks that a viewer's times rise, and returns its pictures.
func (v *clusterViewer) rising(t *testing.T) (names []string) {
	t.Helper()
	list, err := v.pictures()
	if err != nil {
		t.Errorf("a viewer was disconnected: %v", err)
	}
	for i, g := range list {
		if i > 0 && g.Time <= list[i-1].Time {
			t.Errorf("picture %d has time %d after %d", i, g.Time, list[i-1].Time)
		}
		names = append(names, strings.TrimPrefix(g.Payload[5:], "picture "))
	}
	return names
}

func standby(c *relayConfig) { c.Takeover = config.TakeoverStandby }

// A second publisher of a stream waits, the API says so, and it goes on at its key frame
// when the first has ended.
func TestStandby(t *testing.T) {
	s := startRelay(t, standby)
	p := s.publishing(t, "/live/s.flv")
	p.send(t, encoderTags("a", 0, 5)...)
	s.received(t, "live/s", 6)
	v := s.watch(t, "/live/s.flv")
	v.until(t, "picture a4")
	q := s.publishing(t, "/live/s.flv?key=of-the-second")
	q.send(t, encoderTags("b", 1000, 5)...)
	s.waits(t, "live/s", 1)
	relayEventually(t, "the second's pictures have come", func() bool {
		c, ok := s.host.Register.Get("p2")
		return ok && c.Figures().Frames == 6
	})
	relayEventually(t, "the API says who publishes and who stands by", func() bool {
		_, text := s.get(t, "/api/streams/live/s")
		var a web.StreamInfo
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatal(err, text)
		}
		return a.Publisher != nil && a.Publisher.ID == "p1" && len(a.Standbys) == 1 && a.Standbys[0].ID == "p2"
	})
	p.send(t, encoderTags("a", 5, 5)...)
	v.until(t, "picture a9")
	p.Close()
	s.waits(t, "live/s", 1)
	relayEventually(t, "the first has ended", func() bool { st, _ := s.host.Hub.Stream("live/s"); return st.Publisher() == nil })
	q.send(t, encoderTags("b", 1005, 5)...)
	v.until(t, "picture b1009")
	if got := strings.Join(v.rising(t), " "); got != "a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 b1005 b1006 b1007 b1008 b1009" {
		t.Error(got)
	}
	if _, text := s.get(t, "/api/events"); !strings.Contains(text, `"takeover"`) {
		t.Errorf("no event: %s", text)
	}
}

// The name that a publisher has for its program may be as long as it likes: that of one that stood by was in the event of
// its taking over, which has a limit, and beyond that the server ended.
func TestStandbyOfALongName(t *testing.T) {
	s := startRelay(t, standby)
	p := s.publishing(t, "/live/s.flv")
	p.send(t, encoderTags("a", 0, 5)...)
	s.received(t, "live/s", 6)
	conn, err := net.Dial("tcp", s.http)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /live/s.flv HTTP/1.1\r\nHost: a\r\nUser-Agent: %s\r\nContent-Length: 100000\r\n\r\n%s", strings.Repeat("<", 20000), flvtest.Header)
	s.waits(t, "live/s", 1)
	p.Close()
	relayEventually(t, "the first has ended", func() bool { st, _ := s.host.Hub.Stream("live/s"); return st.Publisher() == nil })
	for _, g := range encoderTags("b", 1000, 5) {
		if _, err := conn.Write(g.Append(nil)); err != nil {
			t.Fatal(err)
		}
	}
	var events struct{ Events []hooks.Event }
	var taken int
	relayEventually(t, "the second has taken over", func() bool {
		_, text := s.get(t, "/api/events")
		if err := json.Unmarshal([]byte(text), &events); err != nil {
			t.Fatal(err, text)
		}
		taken = slices.IndexFunc(events.Events, func(v hooks.Event) bool { return v.Event == hooks.Takeover })
		return taken >= 0
	})
	if n := len(events.Events[taken].Agent); n == 0 || n > 200 {
		t.Errorf("a name of %d bytes", n)
	}
}

// The publisher's node goes, and the encoder that stands by on another takes its place:
// viewers of all nodes stay. When the first node's encoder comes back it stands by.
func TestClusterStandby(t *testing.T) {
	nodes := startNodes(t, 3, standby)
	a, b, c := nodes[0], nodes[1], nodes[2]
	p := a.publishing(t, "/live/s.flv")
	p.send(t, encoderTags("a", 0, 5)...)
	a.received(t, "live/s", 6)
	b.knows(t, "live/s", "a")
	c.knows(t, "live/s", "a")
	q := b.publishing(t, "/live/s.flv")
	q.send(t, encoderTags("b", 1000, 5)...)
	b.waits(t, "live/s", 1)
	viewers := []*clusterViewer{b.watch(t, "/live/s.flv"), c.watch(t, "/live/s.flv"), c.watch(t, "/live/s.flv")}
	for _, v := range viewers {
		v.until(t, "picture a4")
	}
	a.Close()
	b.knows(t, "live/s", "b")
	next := 1005
	for _, v := range viewers {
		relayEventually(t, "the second's pictures come", func() bool {
			q.send(t, encoderTags("b", next, 5)...)
			next += 5
			list, err := v.pictures()
			return err != nil || strings.Contains(list[len(list)-1].Payload, "picture b")
		})
	}
	c.knows(t, "live/s", "b")
	q.send(t, encoderTags("b", next, 5)...)
	for _, v := range viewers {
		v.until(t, fmt.Sprint("picture b", next+4))
		names := v.rising(t)
		if !strings.HasPrefix(strings.Join(names, " "), "a0 a1 a2 a3 a4 b1") {
			t.Error(names)
		}
	}
	again := c.publishing(t, "/live/s.flv")
	again.send(t, encoderTags("c", 0, 5)...)
	c.waits(t, "live/s", 1)
	c.knows(t, "live/s", "b")
}

// The publisher falls silent: that of another node takes its place, and when it sends
// again it stands by.
func TestClusterStandbyForASilentPublisher(t *testing.T) {
	lengthening(t, 300*time.Millisecond, takesOverFromASilentOne)
}

// takesOverFromASilentOne does that with a limit of silence, and reports false when on a busy
// machine the second was silent for as long, so that the first might take its place again.
func takesOverFromASilentOne(t *testing.T, after time.Duration) bool {
	nodes := startNodes(t, 2, func(c *relayConfig) {
		standby(c)
		c.TakeoverAfter = after
	})
	a, b := nodes[0], nodes[1]
	p := a.publishing(t, "/live/s.flv")
	p.send(t, encoderTags("a", 0, 5)...)
	a.received(t, "live/s", 6)
	b.knows(t, "live/s", "a")
	v := a.watch(t, "/live/s.flv")
	v.until(t, "picture a4")
	q := b.publishing(t, "/live/s.flv")
	next, latest, longest := 1000, time.Now(), time.Duration(0)
	send := func() {
		t.Helper()
		q.send(t, encoderTags("b", next, 5)...)
		next += 5
		longest, latest = max(longest, time.Since(latest)), time.Now()
	}
	relayEventually(t, "the second has the stream", func() bool {
		send()
		list, _ := v.pictures()
		return strings.Contains(list[len(list)-1].Payload, "picture b")
	})
	longest = 0
	relayEventually(t, "all know it, and the silent one stands by", func() bool {
		send()
		st, ok := a.host.Hub.Stream("live/s")
		return a.winner("live/s") == "b" && ok && len(st.Waiting()) == 1
	})
	p.send(t, encoderTags("a", 5, 5)...)
	last := ""
	relayEventually(t, "the second's pictures come", func() bool {
		send()
		list, err := v.pictures()
		if err != nil {
			t.Fatalf("a viewer was disconnected: %v", err)
		}
		last = list[len(list)-1].Payload
		return next > 1100 && strings.Contains(last, "picture b")
	})
	if slices.ContainsFunc(v.rising(t), func(name string) bool { return name == "a5" || name == "a9" }) {
		if longest < after/2 || after > relayWait/4 {
			t.Errorf("the first has taken its place again, after a silence of at most %v", longest)
		}
		return false
	}
	return true
}
