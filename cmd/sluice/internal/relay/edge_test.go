package relay

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/pull"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/testcert"
	"github.com/sluice-go/sluice/rtmp"
)

// edgeFast makes a server pull from an address with short timeouts.
func edgeFast(t *testing.T, address string) func(*Server) {
	return func(s *Server) {
		o, err := pull.New(s.host, []string{address}, func(o *edge.Options) {
			o.Linger, o.Retry, o.RetryMost, o.Refuse = 100*time.Millisecond, time.Millisecond, 10*time.Millisecond, time.Nanosecond
			o.TLS = testcert.Client(t)
		})
		if err != nil {
			panic(err)
		}
		s.host.Puller = o
	}
}

// edgeAddress is where a server is an origin.
func edgeAddress(s *Server, scheme string) string {
	a := scheme + "://" + s.Addresses()[scheme]
	if scheme == "rtmp" || scheme == "rtmps" {
		a += "/live"
	}
	return a
}

func edgeSchemes(t *testing.T, f func(t *testing.T, scheme string)) {
	for _, scheme := range []string{"rtmp", "rtmps", "http", "https"} {
		t.Run(scheme, func(t *testing.T) { f(t, scheme) })
	}
}

func edgeAll(c *relayConfig) { c.HTTPS = "127.0.0.1:0" }

func edgePublishers(s *Server) int { return s.host.Register.Number(session.RolePublisher) }

// Viewers at the edge get what the publisher at the origin sends, byte for
// byte, over one pull.
func TestEdgeViewersGetEveryByte(t *testing.T) {
	edgeSchemes(t, func(t *testing.T, scheme string) {
		far := rtmpServe(t, edgeAll)
		near := rtmpServeWith(t, nil, edgeFast(t, edgeAddress(far, scheme)))
		clip := rtmpClip()
		p := rtmpPush(t, far, "rtmp", "live", "s")
		if err := p.send(clip[:10]); err != nil {
			t.Fatal(err)
		}
		rtmpUntil(t, "the origin has frames", func() bool {
			st, ok := far.host.Hub.Stream("live/s")
			return ok && st.Stats().FramesIn == 10
		})
		const viewers = 5
		var clients []*rtmpClient
		var joining sync.WaitGroup
		for i := range viewers {
			x := rtmpDial(t, near, []string{"rtmp", "rtmps"}[i%2], "live")
			clients = append(clients, x)
			joining.Go(func() {
				if err := x.c.Play("s?wait=60"); err != nil {
					t.Error(err)
				}
			})
		}
		joining.Wait()
		// In pieces that are awaited: of what a file sends at once, pictures may be left out
		// for viewers that a busy machine makes late.
		got := make([][]rtmpFrame, viewers)
		for sent := 10; ; {
			var watching sync.WaitGroup
			for i, x := range clients {
				watching.Go(func() {
					frames, _, err := x.receive(sent - len(got[i]))
					if err != nil {
						t.Errorf("viewer %d: %v", i, err)
					}
					got[i] = append(got[i], frames...)
				})
			}
			watching.Wait()
			if t.Failed() || sent == len(clip) {
				break
			}
			next := min(sent+50, len(clip))
			if err := p.send(clip[sent:next]); err != nil {
				t.Fatal(err)
			}
			sent = next
		}
		for i := range clients {
			rtmpCompare(t, fmt.Sprint("viewer ", i), got[i], clip)
		}
		if got := far.host.Register.Number(session.RoleViewer); got != 1 {
			t.Errorf("the edge has %d connections to the origin", got)
		}
		for _, c := range near.host.Register.List() {
			if c.Role == session.RolePublisher && (c.Agent != "origin" || c.Stream != "live/s") {
				t.Errorf("the pull is in the books as %+v", c.Info)
			}
		}
	})
}

func TestEdgeLetsGoAndPullsAgain(t *testing.T) {
	far := rtmpServe(t, nil)
	near := rtmpServeWith(t, nil, edgeFast(t, edgeAddress(far, "rtmp")))
	p := rtmpPush(t, far, "rtmp", "live", "s")
	if err := p.send(rtmpClip()[:10]); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		x := rtmpDial(t, near, "rtmp", "live")
		if err := x.c.Play("s?wait=10"); err != nil {
			t.Fatal(err)
		}
		if _, _, err := x.receive(10); err != nil {
			t.Fatal(err)
		}
		x.close()
		rtmpUntil(t, "the origin is let go", func() bool {
			return far.host.Register.Number(session.RoleViewer) == 0 && edgePublishers(near) == 0 && near.host.Gate.Usage().Streams == 0
		})
	}
}

func TestEdgeRefusesWhatTheOriginDoesNotHave(t *testing.T) {
	far := rtmpServe(t, nil)
	for _, scheme := range []string{"rtmp", "http"} {
		near := rtmpServeWith(t, nil, edgeFast(t, edgeAddress(far, scheme)))
		x := rtmpDial(t, near, "rtmp", "live")
		if code := rtmpRefusal(x.c.Play("s")); code != rtmp.PlayStreamNotFound {
			t.Errorf("%s: refused with %s", scheme, code)
		}
		resp, err := http.Get("http://" + near.Addresses()["http"] + "/live/s.flv")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s, %q, %v", scheme, resp.Status, text, err)
		}
		http.DefaultClient.CloseIdleConnections()
	}
}

// An edge that fetches as many streams as it may says that it is full, and not that there is no
// such stream.
func TestEdgeThatFetchesTooMany(t *testing.T) {
	far := rtmpServe(t, nil)
	near := rtmpServeWith(t, nil, func(s *Server) {
		o, err := pull.New(s.host, []string{edgeAddress(far, "http")}, func(o *edge.Options) { o.Max = 1 })
		if err != nil {
			panic(err)
		}
		s.host.Puller = o
	})
	p := rtmpPush(t, far, "rtmp", "live", "s")
	if err := p.send(rtmpClip()[:10]); err != nil {
		t.Fatal(err)
	}
	x := rtmpDial(t, near, "rtmp", "live")
	if err := x.c.Play("s?wait=30"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get("http://" + near.Addresses()["http"] + "/live/other.flv")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if err != nil || resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), "max-streams") {
		t.Errorf("%s, %q, %v", resp.Status, text, err)
	}
}

// A viewer that waits at the edge gets the stream when it begins at the origin.
func TestEdgeWaitsForAStream(t *testing.T) {
	far := rtmpServe(t, nil)
	near := rtmpServeWith(t, nil, edgeFast(t, edgeAddress(far, "rtmp")))
	x := rtmpDial(t, near, "rtmp", "live")
	played := make(chan error, 1)
	go func() { played <- x.c.Play("s?wait=30") }()
	rtmpUntil(t, "it waits", func() bool { return near.host.Gate.Usage().Viewers == 1 })
	p := rtmpPush(t, far, "rtmp", "live", "s")
	if err := p.send(rtmpClip()[:10]); err != nil {
		t.Fatal(err)
	}
	if err := <-played; err != nil {
		t.Fatal(err)
	}
	frames, _, err := x.receive(10)
	if err != nil {
		t.Fatal(err)
	}
	rtmpCompare(t, "viewer", frames, rtmpClip()[:10])
}

// A stream that is published at the edge is not pulled.
func TestEdgeLocalStreamGoesFirst(t *testing.T) {
	far := rtmpServe(t, nil)
	near := rtmpServeWith(t, nil, edgeFast(t, edgeAddress(far, "rtmp")))
	p := rtmpPush(t, near, "rtmp", "live", "s")
	if err := p.send(rtmpClip()[:10]); err != nil {
		t.Fatal(err)
	}
	x := rtmpDial(t, near, "rtmp", "live")
	if err := x.c.Play("s"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := x.receive(10); err != nil {
		t.Error(err)
	}
	if n := near.host.Puller.(*pull.Origin).Stats().Begun; n != 0 {
		t.Errorf("%d pulls", n)
	}
}

// An encoder that goes over to the edge when the origin is lost is not refused for as long as viewers wait for that: it
// takes the place of what is pulled when nothing comes any more, and of nothing else.
func TestEdgePublisherTakesTheOriginsPlace(t *testing.T) {
	for _, lost := range []bool{false, true} {
		far := rtmpServe(t, nil)
		near := rtmpServeWith(t, func(c *relayConfig) { c.PublishTimeout = time.Hour }, func(s *Server) {
			edgeFast(t, edgeAddress(far, "rtmp"))(s)
			s.host.Times.Lost = time.Hour
			if lost {
				s.host.Times.Lost = time.Nanosecond
			}
		})
		p := rtmpPush(t, far, "rtmp", "live", "s")
		if err := p.send(rtmpClip()[:10]); err != nil {
			t.Fatal(err)
		}
		x := rtmpDial(t, near, "rtmp", "live")
		if err := x.c.Play("s?wait=10"); err != nil {
			t.Fatal(err)
		}
		if _, _, err := x.receive(10); err != nil {
			t.Fatal(err)
		}
		second := rtmpDial(t, near, "rtmp", "live")
		if err := second.c.Publish("s"); (err == nil) != lost {
			t.Fatalf("the origin is lost: %v: %v", lost, err)
		}
		if !lost {
			continue
		}
		if err := second.send(rtmpClip()[:40]); err != nil {
			t.Fatal(err)
		}
		if _, _, err := x.receive(30); err != nil { // headers say nothing new
			t.Error(err)
		}
		if st, ok := near.host.Hub.Stream("live/s"); !ok || st.Publisher() == nil || st.Publisher().Name() == edgeAddress(far, "rtmp") {
			t.Error("nothing is published here")
		}
		// The origin's connection is silent, and does not end by itself.
		relayEventually(t, "the pull has ended", func() bool { return near.host.Puller.(*pull.Origin).Stats().Active == 0 })
		if n := near.host.Register.Number(session.RolePublisher); n != 1 {
			t.Errorf("%d publishers", n)
		}
	}
}

// A server that is its own origin, and two that are each other's, refuse a stream
// without a publisher.
func TestEdgeCirclesAreCutOff(t *testing.T) {
	for _, scheme := range []string{"rtmp", "http"} {
		t.Run(scheme, func(t *testing.T) {
			a := rtmpServe(t, nil)
			b := rtmpServeWith(t, nil, edgeFast(t, edgeAddress(a, scheme)))
			edgeFast(t, edgeAddress(b, scheme))(a)
			for _, s := range []*Server{a, b} {
				x := rtmpDial(t, s, "rtmp", "live")
				if code := rtmpRefusal(x.c.Play("s")); code != rtmp.PlayStreamNotFound {
					t.Errorf("refused with %s", code)
				}
			}
			own := rtmpServe(t, nil)
			edgeFast(t, edgeAddress(own, scheme))(own)
			x := rtmpDial(t, own, "rtmp", "live")
			if code := rtmpRefusal(x.c.Play("s")); code != rtmp.PlayStreamNotFound {
				t.Errorf("refused with %s", code)
			}
			// What is published somewhere is found through the other.
			p := rtmpPush(t, a, "rtmp", "live", "s")
			if err := p.send(rtmpClip()[:10]); err != nil {
				t.Fatal(err)
			}
			y := rtmpDial(t, b, "rtmp", "live")
			if err := y.c.Play("s?wait=10"); err != nil {
				t.Fatal(err)
			}
			if _, _, err := y.receive(10); err != nil {
				t.Error(err)
			}
		})
	}
}

// An origin that goes away and comes back costs the viewers nothing but the
// frames.
func TestEdgeOriginPublisherComesBack(t *testing.T) {
	far := rtmpServe(t, func(c *relayConfig) { c.Grace = time.Minute })
	near := rtmpServeWith(t, nil, edgeFast(t, edgeAddress(far, "http")))
	p := rtmpPush(t, far, "rtmp", "live", "s")
	if err := p.send(rtmpClip()[:10]); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodGet, "http://"+near.Addresses()["http"]+"/live/s.flv?wait=60", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close()
	r := sluice.NewBufReader(resp.Body)
	defer r.Recycle()
	d := flv.NewDecoder(r)
	if _, err := d.ReadHeader(); err != nil {
		t.Fatal(err)
	}
	read := func(n int) {
		t.Helper()
		for range n {
			tag, err := d.Next()
			if err != nil {
				t.Fatal(err)
			}
			tag.Release()
		}
	}
	read(10)
	// The edge's connection is cut; it comes back by itself.
	for _, c := range far.host.Register.List() {
		if c.Role == session.RoleViewer {
			c.Stop(session.ErrKicked)
		}
	}
	rtmpUntil(t, "the edge is back", func() bool {
		return near.host.Puller.(*pull.Origin).Stats().Reconnects > 0 && far.host.Register.Number(session.RoleViewer) == 1
	})
	if err := p.send(rtmpClip()[10:40]); err != nil {
		t.Fatal(err)
	}
	read(30)
}

func TestEdgeOriginThatRefusesIsTold(t *testing.T) {
	s := rtmpServe(t, nil)
	for _, bad := range []string{"ftp://x", "rtmp://", "http://u:p@host/"} {
		if _, err := pull.New(s.host, []string{bad}, nil); !errors.Is(err, edge.ErrOrigin) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
