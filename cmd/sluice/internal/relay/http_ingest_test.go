package relay

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
)

// readAnswer reads an answer off a connection.
func readAnswer(t *testing.T, r *bufio.Reader) (int, http.Header, string) {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

func TestPublishByLengthAndByChunks(t *testing.T) {
	s := startRelay(t, nil)
	for _, c := range []struct{ method, head, body string }{
		{"POST", fmt.Sprintf("Content-Length: %d", len(flvclip.File)), string(flvclip.File)},
		{"PUT", fmt.Sprintf("Content-Length: %d", len(flvclip.File)), string(flvclip.File)},
		{"PUT", "Transfer-Encoding: chunked", strings.TrimSuffix(string(flvtest.Chunked(slices.Collect(slices.Chunk(flvclip.File, 4000))...)), "NEXT")},
	} {
		got := make(chan []flvtest.Tag, 1)
		go func() {
			_, r := s.playing(t, "/live/s.flv?wait=20")
			var tags []flvtest.Tag
			for {
				g, err := r.Next()
				if err != nil {
					break
				}
				tags = append(tags, g)
			}
			got <- tags
		}()
		relayEventually(t, "one who waits", func() bool { return s.host.Gate.Usage().Viewers == 1 })
		conn, r := s.raw(t, c.method+" /live/s.flv HTTP/1.1\nHost: a\nUser-Agent: enc/1\n"+c.head+"\n\n")
		go io.WriteString(conn, c.body)
		status, header, text := readAnswer(t, r)
		if status != 200 || header.Get("Content-Type") != "application/json" || text != `{"stream":"live/s","frames":`+fmt.Sprint(len(flvtest.Clip(t)))+"}\n" {
			t.Errorf("%s, %s: %d %v %s", c.method, c.head, status, header, text)
		}
		if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("%s: the connection goes on: %v", c.method, err)
		}
		if tags := <-got; !slices.Equal(tags, flvtest.Clip(t)) {
			t.Errorf("%s, %s: not what was sent: %d tags", c.method, c.head, len(tags))
		}
		relayEventually(t, "the end of the stream", func() bool { return len(s.host.Hub.Streams()) == 0 && s.host.Gate.Usage().Viewers == 0 })
	}
	s.log.line(t, "publisher started", "id=p1", "stream=live/s", "protocol=flv", "address=127.0.0.1:", "agent=enc/1")
	s.log.line(t, "publisher ended", "id=p1", "reason=", "bytes=", "frames=", "duration=")
	s.log.line(t, "viewer started", "id=v1", "agent=test/1")
	s.log.line(t, "viewer ended", "id=v1", "reason=", "bytes=", "frames=", "duration=", "jumps=0", "dropped=0")
}

// Script data in AMF3 is no part of a stream, however it is published: no player of FLV reads it.
func TestScriptDataInAMF3IsLeftOut(t *testing.T) {
	s := startRelay(t, nil)
	const header = 9 + 4 // of a file, with the size of no tag
	script := flvtest.Tag{Type: flv.TagScript, Payload: "\x02\x00\x0aonMetaData\x11\x0a\x0b\x01\x01"}
	body := slices.Concat(flvclip.File[:header], script.Append(nil), flvclip.File[header:])
	got := make(chan []flvtest.Tag, 1)
	go func() {
		_, r := s.playing(t, "/live/s.flv?wait=20")
		var tags []flvtest.Tag
		for g, err := r.Next(); err == nil; g, err = r.Next() {
			tags = append(tags, g)
		}
		got <- tags
	}()
	relayEventually(t, "one who waits", func() bool { return s.host.Gate.Usage().Viewers == 1 })
	conn, r := s.raw(t, fmt.Sprintf("POST /live/s.flv HTTP/1.1\nHost: a\nContent-Length: %d\n\n", len(body)))
	go conn.Write(body)
	if status, _, text := readAnswer(t, r); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	if tags := <-got; !slices.Equal(tags, flvtest.Clip(t)) {
		t.Errorf("%d tags, want %d", len(tags), len(flvtest.Clip(t)))
	}
}

func TestExpectContinue(t *testing.T) {
	s := startRelay(t, nil)
	conn, r := s.raw(t, "POST /live/s.flv HTTP/1.1\nHost: a\nExpect: 100-continue\nTransfer-Encoding: chunked\n\n")
	if line, err := r.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if line, err := r.ReadString('\n'); err != nil || line != "\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	file, _ := flvtest.Sizes()
	io.WriteString(conn, strings.TrimSuffix(string(flvtest.Chunked(file)), "NEXT"))
	if status, _, text := readAnswer(t, r); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	// A refused publisher gets the refusal instead, before it sends the body.
	_, r = s.raw(t, "POST /s.flv HTTP/1.1\nHost: a\nExpect: 100-continue\nTransfer-Encoding: chunked\n\n")
	if status, _, text := readAnswer(t, r); status != 400 || !strings.Contains(text, "APP/NAME") {
		t.Errorf("%d %s", status, text)
	}
	// HTTP/1.0 has no answers with 1xx (RFC 9110, section 15.2).
	conn, r = s.raw(t, fmt.Sprintf("POST /live/old.flv HTTP/1.0\nExpect: 100-continue\nContent-Length: %d\n\n", len(file)))
	conn.Write(file)
	if status, _, text := readAnswer(t, r); status != 200 {
		t.Errorf("HTTP/1.0: %d %s", status, text)
	}
}

func TestRefusedPublishers(t *testing.T) {
	hook := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "live/no") {
			rw.WriteHeader(403)
			io.WriteString(rw, "not you")
		}
	}))
	t.Cleanup(hook.Close)
	s := startRelay(t, func(c *relayConfig) {
		c.MaxStreams = 1
		c.CORS = []string{"https://studio.example"}
		c.Hook = hook.URL
	})
	first := s.publishing(t, "/live/s.flv")
	first.send(t, flvtest.Clip(t)[:5]...)
	relayEventually(t, "the first publisher", func() bool { return s.host.Register.Number(session.RolePublisher) == 1 })
	const chunks = "Transfer-Encoding: chunked\n"
	for _, c := range []struct {
		request string
		status  int
		says    string
	}{
		{"POST /live/s.flv?key=other HTTP/1.1\nHost: a\n" + chunks, 409, "already has a publisher"},
		{"PUT /live/t.flv HTTP/1.1\nHost: a\n" + chunks, 503, "limit 1"},
		{"PUT /live/no.flv HTTP/1.1\nHost: a\n" + chunks, 503, "limit 1"},
		{"POST /live.flv HTTP/1.1\nHost: a\n" + chunks, 400, "APP/NAME"},
		{"POST /live/.hidden.flv HTTP/1.1\nHost: a\n" + chunks, 400, "dot"},
		{"POST /live/s.flv HTTP/1.1\nHost: a\n", 411, "length"},
		{"POST /live/s.flv HTTP/1.1\nHost: a\nContent-Length: 0\n", 411, "length"},
		{"POST /live/s.flv HTTP/1.1\nHost: a\nContent-Encoding: gzip\nContent-Length: 5\n", 415, "compressed"},
		{"POST /live/s.flv HTTP/1.1\nHost: a\nOrigin: https://evil.example\n" + chunks, 403, "origin"},
		{"POST /live/s.flv HTTP/1.1\nHost: a\nOrigin: https://studio.example\n" + chunks, 403, "origin"},
		{"PATCH /live/s.flv HTTP/1.1\nHost: a\nContent-Length: 5\n", 405, "POST or PUT"},
		{"POST /live/s HTTP/1.1\nHost: a\nContent-Length: 5\n", 404, ""},
		{"POST /api/streams HTTP/1.1\nHost: a\nContent-Length: 5\n", 405, "GET"},
	} {
		conn, r := s.raw(t, c.request+"\n")
		// A publisher that goes on sending still gets its answer.
		io.WriteString(conn, "2710\r\n"+strings.Repeat("x", 10000)+"\r\n")
		status, header, text := readAnswer(t, r)
		if status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%q: %d %s, want %d %q", c.request, status, text, c.status, c.says)
		}
		if c.status != 404 && (header.Get("Content-Type") != "application/json" || !strings.HasPrefix(text, `{"error":"`)) {
			t.Errorf("%q: %v %s", c.request, header, text)
		}
	}
	first.Close()
	if a := first.answered(t); a.status != 200 {
		t.Errorf("the first: %+v", a)
	}
	_, r := s.raw(t, "PUT /live/no.flv HTTP/1.1\nHost: a\n"+chunks+"\n")
	if status, _, text := readAnswer(t, r); status != 403 || !strings.Contains(text, "not you") {
		t.Errorf("%d %s", status, text)
	}
	s.log.line(t, "publisher refused", "stream=live/no", "not you")
	if n := s.host.Gate.Usage().Streams; n != 0 {
		t.Errorf("%d streams are counted", n)
	}
}

func TestPublishersThatSendNonsenseHearOfIt(t *testing.T) {
	s := startRelay(t, nil)
	file, _ := flvtest.Sizes()
	for _, c := range []struct {
		body   string
		status int
		says   string
	}{
		{"5\r\nhello\r\n4\r\nabcd\r\n", 400, "flv"},
		{"zz\r\n", 400, "chunk"},
		{"0\r\n\r\n", 400, "ends inside"},
		{fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(file)-9, file[:len(file)-9]), 400, "ends inside"},
	} {
		conn, r := s.raw(t, "POST /live/s.flv HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n")
		io.WriteString(conn, c.body)
		if status, _, text := readAnswer(t, r); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%.20q: %d %s", c.body, status, text)
		}
		relayEventually(t, "the end of the session", func() bool { return s.host.Gate.Usage().Streams == 0 })
	}
}

func TestPublishersThatGoSilentOrSlowAreEnded(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.times.Silence, c.times.Rate = 400*time.Millisecond, time.Minute })
	file, _ := flvtest.Sizes()
	conn, r := s.raw(t, "POST /live/silent.flv HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n")
	fmt.Fprintf(conn, "%x\r\n%s\r\n", len(file), file)
	if status, _, text := readAnswer(t, r); status != 408 || !strings.Contains(text, "in time: the setting publish-timeout is 400ms") {
		t.Errorf("%d %s", status, text)
	}
	// One byte at a time, far from the minimum.
	s = startRelay(t, func(c *relayConfig) { c.times.Silence, c.times.Rate = time.Minute, 400*time.Millisecond })
	conn, r = s.raw(t, "POST /live/slow.flv HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n")
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		tick := time.NewTicker(300 * time.Millisecond)
		defer tick.Stop()
		for range 300 {
			if _, err := io.WriteString(conn, "0"); err != nil {
				return
			}
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	if status, _, text := readAnswer(t, r); status != 408 || !strings.Contains(text, "the setting min-publish-rate is 512 bytes a second, over 400ms") {
		t.Errorf("%d %s", status, text)
	}
}

// How long a publisher may be silent is a setting, also of some streams. The least rate is
// measured over at least that time: otherwise it would end who is silent for less.
func TestTimesOfPublishers(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.times.Silence, c.times.Rate, c.PublishTimeout = 0, 0, time.Minute })
	for _, limit := range []time.Duration{time.Minute, 5 * time.Second} {
		c := *s.host.Config()
		c.PublishTimeout = limit
		if _, _, err := s.Reload(c); err != nil {
			t.Fatal(err)
		}
		got := s.host.PublisherTimes("live/s")
		if got.Silence != limit || got.Rate != max(limit, 10*time.Second) {
			t.Errorf("publish-timeout %v: silent for %v, the rate over %v", limit, got.Silence, got.Rate)
		}
	}
}

func TestPublisherThatBreaksOffLeavesNothing(t *testing.T) {
	s := startRelay(t, nil)
	conn, _ := s.raw(t, "POST /live/s.flv HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n")
	file, _ := flvtest.Sizes()
	fmt.Fprintf(conn, "%x\r\n%s", len(file)+100, file)
	relayEventually(t, "a stream", func() bool { return len(s.host.Hub.Streams()) == 1 })
	conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
	relayEventually(t, "its end", func() bool {
		return len(s.host.Hub.Streams()) == 0 && s.host.Register.Number(session.RolePublisher) == 0
	})
	s.log.line(t, "publisher ended", "reason=")
}

func TestTakeover(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.Takeover = config.TakeoverReplace })
	clip := flvtest.Clip(t)
	first := s.publishing(t, "/live/s.flv")
	first.send(t, clip[:10]...)
	frames := func(n int64) func() bool {
		return func() bool {
			st, ok := s.host.Hub.Stream("live/s")
			return ok && st.Stats().FramesIn == n
		}
	}
	relayEventually(t, "the first", frames(10))
	second := s.publishing(t, "/live/s.flv")
	second.send(t, clip[:10]...)
	relayEventually(t, "the second", frames(20))
	first.Write(clip[10].Append(nil))
	if a := first.answered(t); a.status != 409 || !strings.Contains(a.text, "took the stream over") {
		t.Errorf("the first: %+v", a)
	}
	second.send(t, clip[10])
	second.Close()
	if a := second.answered(t); a.status != 200 {
		t.Errorf("the second: %+v", a)
	}
}
