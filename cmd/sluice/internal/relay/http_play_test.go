package relay

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
)

// What goes in over HTTP comes out over HTTP, tag by tag and byte by byte, for a
// viewer who waited for it.
func TestHTTPFLVInAndOut(t *testing.T) {
	s := startRelay(t, nil)
	type result struct {
		tags []flvtest.Tag
		resp *http.Response
	}
	const viewers = 3
	got := make(chan result, viewers)
	for range viewers {
		go func() {
			resp, r := s.playing(t, "/live/s.flv?wait=20")
			var tags []flvtest.Tag
			for {
				g, err := r.Next()
				if err != nil {
					if err != io.EOF {
						t.Error(err)
					}
					break
				}
				tags = append(tags, g)
			}
			got <- result{tags, resp}
		}()
	}
	relayEventually(t, "three who wait", func() bool { return s.host.Gate.Usage().Viewers == viewers })
	resp, err := http.Post("http://"+s.http+"/live/s.flv", "video/x-flv", io.MultiReader(strings.NewReader(string(flvclip.File))))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	want := flvtest.Clip(t)
	if resp.StatusCode != 200 || !strings.Contains(string(text), `"frames":`) {
		t.Errorf("%s: %s", resp.Status, text)
	}
	for range viewers {
		r := <-got
		if !slices.Equal(r.tags, want) {
			t.Errorf("%d tags in, %d tags out, or not the same", len(want), len(r.tags))
		}
		h := r.resp.Header
		if h.Get("Content-Type") != "video/x-flv" || h.Get("Access-Control-Allow-Origin") != "*" || !r.resp.Close || len(r.resp.TransferEncoding) != 1 {
			t.Errorf("the answer begins with %+v", r.resp)
		}
	}
}

func TestRefusedViewers(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) {
		c.MaxViewers = 2
		c.AllowPlay = []string{"127.0.0.0/8"}
		c.Protect, c.TokenSecret = []string{"play"}, strings.Repeat("k", 32)
	})
	token := access.Sign([]byte(s.host.Config().TokenSecret), access.Play, "live/s", time.Now().Add(time.Hour))
	other := access.Sign([]byte(s.host.Config().TokenSecret), access.Play, "live/t", time.Now().Add(time.Hour))
	p := s.publishing(t, "/live/s.flv")
	p.send(t, flvtest.Clip(t)[:10]...)
	relayEventually(t, "the stream", func() bool { return len(s.host.Hub.Streams()) == 1 })
	for _, c := range []struct {
		path   string
		status int
		says   string
	}{
		{"/live/t.flv?token=" + other, 404, "no such stream"},
		{"/live/t.flv?wait=0&token=" + other, 404, "no such stream"},
		{"/live/t.flv?wait=0.05&token=" + other, 404, "no such stream"},
		{"/live/s.flv", 401, "token"},
		{"/live/s.flv?token=" + other, 401, "token"},
		{"/live/s.flv?merge=351&token=" + token, 400, "0 to 350"},
		{"/live/s.flv?merge=x&token=" + token, 400, "merge=x"},
		{"/live/s.flv?gop=2&token=" + token, 400, "gop=2"},
		{"/live/s.flv?wait=61&token=" + token, 400, "0 to 60"},
		{"/live/s.flv?wait=-1&token=" + token, 400, "wait=-1"},
		{"/live/s.flv?wait=NaN&token=" + token, 400, "wait=NaN"},
		{"/live.flv", 400, "APP/NAME"},
		{"/live/a%00b.flv", 400, "characters"},
		{"/live/%2e%2e.flv", 400, "dot"},
		{"/" + strings.Repeat("x", 300) + "/s.flv", 400, "limit is 200"},
		{"/live/s.mp4", 404, ""},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			status, text := s.do(t, method, c.path, nil)
			if status != c.status || method == "GET" && !strings.Contains(text, c.says) || method == "HEAD" && text != "" {
				t.Errorf("%s %s: %d %s, want %d %s", method, c.path, status, text, c.status, c.says)
			}
		}
	}
	if status, text := s.do(t, "HEAD", "/live/s.flv?token="+token, nil); status != 200 || text != "" {
		t.Errorf("HEAD: %d %q", status, text)
	}
	relayEventually(t, "no viewer", func() bool { return s.host.Gate.Usage().Viewers == 0 })
	s.playing(t, "/live/s.flv?token="+token)
	s.playing(t, "/live/s.flv?token="+token)
	if status, text := s.get(t, "/live/s.flv?token="+token); status != 503 || !strings.Contains(text, "limit 2") {
		t.Errorf("the third: %d %s", status, text)
	}
	if log := s.log.String(); strings.Contains(log, token) || strings.Contains(log, other) {
		t.Error("tokens are in the log")
	}
	s.log.line(t, "viewer refused", "stream=live/s", "token")
}

// Players that are refused do not keep connections busy.
func TestRefusedViewersAreDisconnected(t *testing.T) {
	s := startRelay(t, nil)
	for _, request := range []string{
		"GET /live/none.flv HTTP/1.1\nHost: a\n\n",
		"HEAD /live/none.flv HTTP/1.1\nHost: a\n\n",
		"GET /live/none.flv?wait=x HTTP/1.1\nHost: a\n\n",
		"GET /live/none.flv HTTP/1.1\nHost: a\nUpgrade: websocket\nConnection: Upgrade\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n\n",
	} {
		conn, _ := s.raw(t, request)
		conn.SetReadDeadline(time.Now().Add(s.host.Times.Idle / 2))
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Errorf("%q: not closed: %v", request, err)
		}
	}
}

// A waiting viewer gets the stream as soon as it exists, also after the time
// limit of other answers, and no longer counts when the client has gone.
func TestWaitForAStream(t *testing.T) {
	lengthening(t, 200*time.Millisecond, waitsForAStream)
}

// waitsForAStream does that with a time limit of other answers, and reports false when a
// machine that stood still let it pass before a request had come.
func waitsForAStream(t *testing.T, limit time.Duration) bool {
	s := startRelay(t, func(c *relayConfig) { c.times.Request, c.times.Answer, c.times.Header = limit, limit, limit })
	late := limit < relayWait/4
	viewers := func() int { return s.host.Gate.Usage().Viewers }
	began := time.Now()
	gone, _ := s.raw(t, "GET /live/s.flv?wait=60 HTTP/1.1\nHost: a\n\n")
	_, r := s.raw(t, "GET /live/s.flv?wait=60 HTTP/1.1\nHost: a\n\n")
	relayEventually(t, "two who wait", func() bool { return viewers() == 2 || late && time.Since(began) > 4*limit })
	if viewers() != 2 {
		return false
	}
	gone.Close()
	relayEventually(t, "one who waits", func() bool { return viewers() == 1 })
	<-time.After(3 * s.host.Times.Answer) // longer than the server gives others
	p := s.publishing(t, "/live/s.flv")
	want := flvtest.Clip(t)[:20]
	for _, g := range want {
		if _, err := p.Write(g.Append(nil)); err != nil {
			if a := p.answered(t); late && a.status != http.StatusOK {
				return false
			}
			t.Fatal(err)
		}
	}
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v, %v", resp, err)
	}
	flv := flvtest.NewReader(resp.Body)
	for i, g := range want {
		if got, err := flv.Next(); err != nil || got != g {
			t.Fatalf("tag %d: %v", i, err)
		}
	}
	return true
}

// A late viewer begins with the headers and the key frame that is there, or
// with gop=0 with the next.
func TestLateViewers(t *testing.T) {
	s := startRelay(t, nil)
	clip := flvtest.Clip(t)
	var keys []int
	for i, g := range clip {
		if h, err := flv.ParseVideo([]byte(g.Payload)); g.Type == flv.TagVideo && err == nil && h.Key() {
			keys = append(keys, i)
		}
	}
	if len(keys) < 3 {
		t.Fatalf("%d key frames in the clip", len(keys))
	}
	p := s.publishing(t, "/live/s.flv")
	p.send(t, clip[:keys[1]+5]...)
	relayEventually(t, "the second key frame", func() bool {
		st, ok := s.host.Hub.Stream("live/s")
		return ok && int(st.Stats().FramesIn) == keys[1]+5
	})
	_, cached := s.playing(t, "/live/s.flv")
	// Without the cache nothing comes before the next key frame, the answer
	// neither.
	conn, r := s.raw(t, "GET /live/s.flv?gop=0&merge=20 HTTP/1.1\nHost: localhost\n\n")
	defer conn.Close()
	s.viewersOf(t, "live/s", 2)
	p.send(t, clip[keys[1]+5:keys[2]+10]...)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		r    *flvtest.Reader
		from int
	}{"cached": {cached, keys[1]}, "gop=0": {flvtest.NewReader(resp.Body), keys[2]}} {
		var media []flvtest.Tag
		for len(media) < 5 {
			g, err := c.r.Next()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if slices.Index(clip, g) >= c.from {
				media = append(media, g)
			}
		}
		if !slices.Equal(media, clip[c.from:c.from+5]) {
			t.Errorf("%s: does not begin at tag %d", name, c.from)
		}
	}
}

func TestViewerThatLeaves(t *testing.T) {
	s := startRelay(t, nil)
	clip := flvtest.Clip(t)
	p := s.publishing(t, "/live/s.flv")
	p.send(t, clip[:20]...)
	relayEventually(t, "the stream", func() bool { return len(s.host.Hub.Streams()) == 1 })
	conn, r := s.raw(t, "GET /live/s.flv HTTP/1.1\nHost: a\n\n")
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	i := 20
	relayEventually(t, "the end of the viewer", func() bool {
		p.send(t, clip[i%len(clip)])
		i++
		return s.host.Gate.Usage().Viewers == 0
	})
	s.log.line(t, "viewer ended", "reason=")
}
