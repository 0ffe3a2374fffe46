package relay

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hlstest"
)

// An httpConn has one request after the other.
type httpConn struct {
	net.Conn
	r *bufio.Reader
}

func (c *httpConn) ask(t *testing.T, method, target, fields string) (*http.Response, string) {
	t.Helper()
	if _, err := fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: a\r\n%s\r\n", method, target, fields); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	return resp, string(body)
}

// A player's connection is served without net/http while it asks for playlists and media,
// and goes back for anything else.
func TestHLSConnectionIsKeptForThePlayer(t *testing.T) {
	s := hlsServe(t, func(c *relayConfig) { c.CORS = []string{"https://a.example"} })
	f := s.feeding(t, "/live/s.flv")
	f.loop(t)
	s.awaitStream(t, "live/s")
	var v *hlsViewer
	f.during(t, func() { v = s.watchHLS(t, "/live/s.m3u8") })
	p := v.settled(t)
	before := s.web.Kept()
	kept := func(n int) {
		t.Helper()
		relayEventually(t, fmt.Sprintf("%d connections that are kept", n), func() bool { return s.web.Kept() == before+n })
	}
	segment := hlsJoin(t, v.media, p.Segments[0].URI)
	_, whole := s.get(t, segment)
	kept(0) // http.Client's was before
	conn, r := s.raw(t, "")
	c := &httpConn{conn, r}
	if resp, text := c.ask(t, "GET", "/live/s.m3u8", ""); resp.StatusCode != 200 || !strings.HasPrefix(text, "#EXTM3U") {
		t.Fatalf("%d %q", resp.StatusCode, text)
	}
	kept(0)
	for range 3 {
		if resp, text := c.ask(t, "GET", v.media, "Origin: https://a.example\r\n"); resp.StatusCode != 200 || resp.Header.Get("Access-Control-Allow-Origin") != "https://a.example" {
			t.Fatalf("%d %v %q", resp.StatusCode, resp.Header, text)
		}
		kept(1)
	}
	if resp, text := c.ask(t, "GET", segment, ""); resp.StatusCode != 200 || text != whole {
		t.Errorf("a segment: %d, %d bytes", resp.StatusCode, len(text))
	}
	if resp, text := c.ask(t, "GET", segment, "Range: bytes=10-19\r\n"); resp.StatusCode != 206 || text != whole[10:20] {
		t.Errorf("a range: %d %q", resp.StatusCode, text)
	}
	if resp, _ := c.ask(t, "HEAD", segment, ""); resp.StatusCode != 200 || resp.ContentLength != int64(len(whole)) {
		t.Errorf("HEAD: %d, %d bytes", resp.StatusCode, resp.ContentLength)
	}
	if resp, text := c.ask(t, "GET", hlsJoin(t, v.media, "none.mp4")+"?"+v.query, ""); resp.StatusCode != 404 || !strings.Contains(text, `{"error":`) {
		t.Errorf("a file that is not there: %d %q", resp.StatusCode, text)
	}
	last := p.Segments[len(p.Segments)-1]
	number := p.Sequence + len(p.Segments)
	if last.URI == "" {
		number--
	}
	f.during(t, func() {
		resp, text := c.ask(t, "GET", fmt.Sprintf("%s&_HLS_msn=%d", v.media, number), "")
		if next, err := hlstest.Parse(text); err != nil || next.Sequence+len(next.Segments) <= number {
			t.Errorf("a playlist that was waited for: %d, %v, %q", resp.StatusCode, err, text)
		}
	})
	kept(1)
	for i := range 4 {
		if resp, text := c.ask(t, "GET", "/api/streams", ""); resp.StatusCode != 200 || !strings.Contains(text, "live/s") {
			t.Errorf("the API: %d %q", resp.StatusCode, text)
		}
		kept(0)
		if resp, _ := c.ask(t, "GET", v.media, ""); resp.StatusCode != 200 {
			t.Errorf("%d", resp.StatusCode)
		}
		if i < 3 { // then it changes sides no more
			kept(1)
		}
	}
	kept(0)
	if _, err := io.WriteString(c, "GET /live/s.flv HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := flvtest.NewReader(resp.Body).Next(); err != nil {
		t.Error(err)
	}
}

// Connections that are kept end with the server.
func TestHLSConnectionThatIsKeptEndsWithTheServer(t *testing.T) {
	s := hlsServe(t, nil)
	f := s.feeding(t, "/live/s.flv")
	f.loop(t)
	s.awaitStream(t, "live/s")
	var v *hlsViewer
	f.during(t, func() { v = s.watchHLS(t, "/live/s.m3u8") })
	v.settled(t)
	before := s.web.Kept()
	conn, r := s.raw(t, "")
	c := &httpConn{conn, r}
	c.ask(t, "GET", v.media, "")
	relayEventually(t, "that it is kept", func() bool { return s.web.Kept() > before })
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
}
