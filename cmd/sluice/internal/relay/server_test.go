package relay

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/loopback"
)

func TestDrain(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.HTTP, c.Grace = loopback.Host()+":0", time.Minute })
	clip := flvtest.Clip(t)
	p := s.publishing(t, "/live/s.flv")
	p.send(t, clip[:50]...)
	relayEventually(t, "the frames", func() bool {
		st, ok := s.host.Hub.Stream("live/s")
		return ok && st.Stats().FramesIn == 50
	})
	_, r := s.playing(t, "/live/s.flv?merge=350")
	waiting, waitingAnswer := s.raw(t, "GET /live/none.flv?wait=60 HTTP/1.1\nHost: a\n\n")
	defer waiting.Close()
	relayEventually(t, "two viewers", func() bool { return s.host.Gate.Usage().Viewers == 2 })
	s.stop()
	s.end(t)
	// The publisher is notified, the viewer has got everything, and the waiting
	// viewer is ended.
	if a := p.answered(t); a.status != 503 || !strings.Contains(a.text, "shutting down") {
		t.Errorf("publisher: %+v", a)
	}
	var last flvtest.Tag
	for {
		g, err := r.Next()
		if err != nil {
			// The body has no end, since the stream was interrupted.
			if err != io.ErrUnexpectedEOF {
				t.Errorf("viewer: %v", err)
			}
			break
		}
		last = g
	}
	if last != clip[49] {
		t.Errorf("the viewer's last tag is not the last that was published")
	}
	if status, _, text := readAnswer(t, waitingAnswer); status != 503 {
		t.Errorf("who waited: %d %s", status, text)
	}
	if _, err := net.Dial("tcp", s.http); err == nil {
		t.Error("it still listens")
	}
	s.log.line(t, "publisher ended", "shutting down")
	s.log.line(t, "viewer ended", "id=v1")
	if n := s.host.Gate.Usage(); n.Viewers != 0 || n.Streams != 0 || len(s.host.Register.List()) != 0 {
		t.Errorf("left: %+v", n)
	}
}

// sendMuch sends four frames behind the first ten of the clip: more than the kernel takes of
// a viewer that does not read.
func (p *relayPipe) sendMuch(t *testing.T) {
	t.Helper()
	frame := "\x22\x01\x00\x00\x00" + strings.Repeat("x", 4<<20)
	for i := range uint32(4) {
		p.send(t, flvtest.Tag{Type: flv.TagVideo, Time: flvtest.Clip(t)[9].Time + 40*(i+1), Payload: frame})
	}
}

// A client that does not read cannot delay the shutdown.
func TestDrainWithAViewerThatDoesNotRead(t *testing.T) {
	s := startRelay(t, nil)
	p := s.publishing(t, "/live/s.flv")
	clip := flvtest.Clip(t)
	p.send(t, clip[:10]...)
	relayEventually(t, "the stream", func() bool { return len(s.host.Hub.Streams()) == 1 })
	conn, _ := s.raw(t, "GET /live/s.flv HTTP/1.1\nHost: a\n\n")
	conn.(*net.TCPConn).SetReadBuffer(4096)
	s.viewersOf(t, "live/s", 1)
	p.sendMuch(t)
	s.received(t, "live/s", 14)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > relayWait/2 {
		t.Errorf("took %v", took)
	}
	s.end(t)
	if n := s.host.Register.Number(session.RoleViewer); n != 0 {
		t.Errorf("%d viewers are left", n)
	}
}

func TestServeThatWasClosedByOthers(t *testing.T) {
	s := startRelay(t, nil)
	if status, _ := s.get(t, "/healthz"); status != 200 {
		t.Errorf("%d", status)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-s.done:
		if !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("%v", err)
		}
		s.done <- err
	case <-time.After(relayWait):
		t.Fatal("Serve does not return")
	}
	if err := s.Shutdown(context.Background()); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A server that is closed before it has begun to serve, and whose context ends, too:
// whichever of the two is seen first.
func TestServeOfAServerThatWasClosed(t *testing.T) {
	c := config.Default()
	c.RTMP, c.HTTP, c.RTSP, c.WebRTC, c.SRT = "127.0.0.1:0", "127.0.0.1:0", "off", "off", "off"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		s, err := New(c, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Listen(); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Serve(ctx); err != http.ErrServerClosed {
			t.Fatalf("%v", err)
		}
	}
}

func TestListenThatFailsLeavesNothingOpen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	c := config.Default()
	c.RTMP, c.HTTP = "127.0.0.1:0", taken.Addr().String()
	s, err := New(c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Listen()
	var l *ListenError
	if !errors.As(err, &l) || l.Setting != "http" || l.Address != c.HTTP {
		t.Fatalf("%v", err)
	}
	if want := "http: cannot listen at " + c.HTTP + ": address already in use"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	if len(s.Addresses()) != 0 {
		t.Errorf("%v", s.Addresses())
	}
}

func TestHostileHTTP(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) {
		c.times.Header, c.times.Request, c.times.Idle = 500*time.Millisecond, 500*time.Millisecond, 500*time.Millisecond
	})
	clip := flvtest.Clip(t)
	var p *relayPipe
	relayEventually(t, "the stream", func() bool { // on a busy machine a request comes too late
		p = s.publishing(t, "/live/s.flv")
		for _, g := range clip[:10] {
			if _, err := p.Write(g.Append(nil)); err != nil {
				return false
			}
		}
		there := false
		relayEventually(t, "the stream, or an answer", func() bool {
			_, there = s.host.Hub.Stream("live/s")
			return there || len(p.answer) > 0
		})
		return there
	})
	endless := func(text string) func(conn net.Conn, stop <-chan struct{}) {
		return func(conn net.Conn, stop <-chan struct{}) {
			for {
				if _, err := io.WriteString(conn, text); err != nil {
					return
				}
			}
		}
	}
	drip := func(text string) func(conn net.Conn, stop <-chan struct{}) {
		return func(conn net.Conn, stop <-chan struct{}) {
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for i := 0; ; i++ {
				if _, err := io.WriteString(conn, text[i%len(text):i%len(text)+1]); err != nil {
					return
				}
				select {
				case <-tick.C:
				case <-stop:
					return
				}
			}
		}
	}
	for name, attack := range map[string]func(net.Conn, <-chan struct{}){
		"silence":      func(net.Conn, <-chan struct{}) {},
		"half a line":  func(c net.Conn, _ <-chan struct{}) { io.WriteString(c, "GET / HT") },
		"endless line": endless(strings.Repeat("x", 4096)),
		"endless headers": func(c net.Conn, s <-chan struct{}) {
			io.WriteString(c, "GET / HTTP/1.1\r\n")
			endless("a: b\r\n")(c, s)
		},
		"byte by byte": func(c net.Conn, s <-chan struct{}) {
			io.WriteString(c, "GET / HTTP/1.1\r\n")
			drip("Header: value\r\n")(c, s)
		},
		"a slow body that nobody wants": func(c net.Conn, s <-chan struct{}) {
			io.WriteString(c, "POST /api/streams HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n")
			drip("x")(c, s)
		},
		"TLS":    func(c net.Conn, _ <-chan struct{}) { c.Write([]byte{22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3}) },
		"HTTP/2": func(c net.Conn, _ <-chan struct{}) { io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") },
		"RTMP":   func(c net.Conn, s <-chan struct{}) { endless("\x03"+strings.Repeat("\x00", 1536))(c, s) },
		"no more than a request": func(c net.Conn, _ <-chan struct{}) {
			io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", s.http)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			stop := make(chan struct{})
			defer close(stop)
			conn.SetDeadline(time.Now().Add(relayWait))
			go attack(conn, stop)
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
				t.Errorf("not closed: %v", err)
			}
		})
	}
	p.send(t, clip[10:20]...)
	p.Close()
	if a := p.answered(t); a.status != 200 {
		t.Errorf("the publisher: %+v", a)
	}
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

func TestPageKnowsThePorts(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.RTMP = "127.0.0.1:0" })
	if status, text := s.get(t, "/"); status != 200 || !strings.Contains(text, "<html") {
		t.Errorf("%d %.100s", status, text)
	}
	_, port, _ := net.SplitHostPort(s.Addresses()["rtmp"])
	if status, text := s.get(t, "/assets/config.json"); status != 200 || !strings.Contains(text, port) {
		t.Errorf("%d %s, want port %s", status, text, port)
	}
	if status, _ := s.get(t, "/no/such/page"); status != 404 {
		t.Errorf("%d", status)
	}
}

func TestPProfListensApart(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.PProf = "127.0.0.1:0" })
	resp, err := http.Get("http://" + s.Addresses()["pprof"] + "/debug/pprof/goroutine?debug=1")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if resp.StatusCode != 200 || !strings.Contains(string(text), "goroutine profile") {
		t.Errorf("%s %.100s", resp.Status, text)
	}
	if status, _ := s.get(t, "/debug/pprof/"); status != 404 {
		t.Errorf("on the other listener: %d", status)
	}
	for _, c := range []struct {
		host, site string
		want       int
	}{
		{"localhost:6060", "", 200}, {"[::1]:6060", "none", 200}, {"a.localhost", "same-origin", 200}, {"127.0.0.1:6060", "same-origin", 200},
		{"evil.example:6060", "", 403}, {"evil.example:6060", "same-origin", 403}, {"127.0.0.1.evil.example", "", 403}, {"192.0.2.1", "", 403}, {"127.0.0.1", "cross-site", 403}, {"localhost", "same-site", 403},
	} {
		r, err := http.NewRequest("GET", "http://"+s.Addresses()["pprof"]+"/debug/pprof/cmdline", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		if c.site != "" {
			r.Header.Set("Sec-Fetch-Site", c.site)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("host %s, from a page of %q: %s, want %d", c.host, c.site, resp.Status, c.want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
