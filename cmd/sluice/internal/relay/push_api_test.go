package relay

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/push"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/rtmp"
)

const pushAPIToken = "a token for the API"

// asked sends a request with the API token and a body, and returns status and answer.
func (s *relayServer) asked(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.http+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+pushAPIToken)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: relayWait}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// relayAndFar starts a server, and another one that ends before it.
func relayAndFar(t *testing.T, change func(*relayConfig)) (s *relayServer, far *Server) {
	t.Helper()
	s = startRelay(t, change)
	rtmpChecked.Store(t, true) // startRelay looks for leaks when both have ended
	return s, rtmpServe(t, nil)
}

// A target that is added over the API gets the streams that there are and later ones,
// outlives a reload, and ends when it is removed. Its key is in no answer, no metric and
// no line of the log.
func TestPushTargetsOverTheAPI(t *testing.T) {
	const key = "hunter2hunter2"
	s, far := relayAndFar(t, func(c *relayConfig) { c.RTMP, c.APIToken = "127.0.0.1:0", pushAPIToken })
	seen := ""
	call := func(method, path, body string, want int) string {
		t.Helper()
		status, text := s.asked(t, method, path, body)
		if status != want {
			t.Errorf("%s %s: %d %s, want %d", method, path, status, text, want)
		}
		seen += text
		return text
	}
	publishers := func() int { return far.host.Register.Number(session.RolePublisher) }
	p := rtmpPush(t, s.Server, "rtmp", "live", "s")
	if err := p.send(rtmpClip()[:20]); err != nil {
		t.Fatal(err)
	}
	address := "rtmp://" + far.Addresses()["rtmp"] + "/live/"
	if status, text := s.do(t, "POST", "/api/pushes", nil); status != http.StatusUnauthorized {
		t.Errorf("without the token: %d %s", status, text)
	}
	for _, body := range []string{"", "{", `{"pattern":"live/*","url":5}`, `{"pattern":"","url":"` + address + key + `"}`, `{"pattern":"live/**","url":"` + address + key + `"}`,
		`{"pattern":"live/*","url":"http://a/b/` + key + `"}`, `{"pattern":"live/*","url":"` + address + `${HOME}` + key + `"}`,
		`{"pattern":"live/*","url":"` + address + key + `","enhancd":true}`, `{"pattern":"live/*","url":"` + address + key + `"} {}`} {
		call("POST", "/api/pushes", body, http.StatusBadRequest)
	}
	call("POST", "/api/pushes", `{"url":"`+strings.Repeat(key, 1000)+`"}`, http.StatusRequestEntityTooLarge)
	var added struct{ ID, Target, Until string }
	text := call("POST", "/api/pushes", fmt.Sprintf(`{"pattern":"live/*","url":"%s%s"}`, address, key), http.StatusOK)
	if err := json.Unmarshal([]byte(text), &added); err != nil || added.ID != "t1" || added.Until != "restart" || !strings.HasSuffix(added.Target, "/live/...") {
		t.Fatalf("%v: %s", err, text)
	}
	rtmpUntil(t, "a stream that was there is pushed", func() bool { return publishers() == 1 })
	if _, _, err := s.Reload(*s.host.Config()); err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "it is live", func() bool { return strings.Contains(call("GET", "/api/pushes", "", 200), `"state":"live"`) })
	if c, ok := far.host.Register.Get("p1"); !ok {
		t.Errorf("the reload has ended it: %v", c)
	}
	call("DELETE", "/api/pushes/t2", "", http.StatusNotFound)
	call("PUT", "/api/pushes", "", http.StatusMethodNotAllowed)
	call("DELETE", "/api/pushes/t1", "", http.StatusNoContent)
	rtmpUntil(t, "it has ended", func() bool { return publishers() == 0 })
	if text := call("GET", "/api/pushes", "", 200); strings.TrimSpace(text) != `{"pushes":[],"targets":[]}` {
		t.Error(text)
	}
	call("POST", "/api/pushes", fmt.Sprintf(`{"pattern":"live/*","url":"%s*%s"}`, address, key), http.StatusOK)
	rtmpUntil(t, "again", func() bool { return publishers() == 1 })
	for i := range 100 {
		call("POST", "/api/pushes", fmt.Sprintf(`{"pattern":"other/x","url":"rtmp://127.0.0.1:1/live/%d"}`, i), []int{http.StatusOK, http.StatusConflict}[i/99])
	}
	call("GET", "/metrics", "", 200)
	if strings.Contains(seen, key) || strings.Contains(s.log.String(), key) {
		t.Errorf("the key is in\n%s\nor in the log", seen)
	}
}

// A reload of the settings begins pushes to new targets, ends those to targets that are
// gone, and leaves the others alone. A target that is wrong changes nothing.
func TestReloadChangesPushTargets(t *testing.T) {
	s, far := relayAndFar(t, func(c *relayConfig) { c.RTMP = "127.0.0.1:0" })
	target := func(name string) string { return "live/*=rtmp://" + far.Addresses()["rtmp"] + "/live/" + name }
	next := *s.host.Config()
	next.Push = []string{target("a"), target("b")}
	if _, _, err := s.Reload(next); err != nil {
		t.Fatal(err)
	}
	p := rtmpPush(t, s.Server, "rtmp", "live", "s")
	if err := p.send(rtmpClip()[:20]); err != nil {
		t.Fatal(err)
	}
	sessions := func() map[string]string {
		byName := map[string]string{}
		for _, c := range far.host.Register.List() {
			byName[c.Stream] = c.ID
		}
		return byName
	}
	rtmpUntil(t, "two are there", func() bool { return len(sessions()) == 2 })
	before := sessions()
	next.Push = []string{target("b"), target("c")}
	if changed, waiting, err := s.Reload(next); err != nil || len(changed) != 1 || len(waiting) != 0 {
		t.Fatal(changed, waiting, err)
	}
	rtmpUntil(t, "a has ended and c is there", func() bool {
		now := sessions()
		return now["live/a"] == "" && now["live/b"] == before["live/b"] && now["live/c"] != ""
	})
	next.Push = []string{"live/*=rtmp://a/b/${A_VARIABLE_THAT_IS_NOT_THERE}"}
	if _, _, err := s.Reload(next); err == nil {
		t.Error("a target without its key")
	}
	if now := sessions(); len(now) != 2 || now["live/b"] != before["live/b"] {
		t.Errorf("a wrong target has changed %v", now)
	}
}

// What is in the form of enhanced RTMP goes to a target that says that it takes the
// codec, or of which the settings say so. Others refuse it, with the reason, without a
// connection every few seconds; and they get the next publisher's stream.
func TestPushOfEnhancedCodecs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	near := rtmpServeWith(t, func(c *relayConfig) { c.Grace = time.Minute }, pushing(t, &relayLog{}, "live/s=rtmp://"+l.Addr().String()+"/live/x", "live/s=enhanced:rtmp://"+l.Addr().String()+"/live/y"))
	targetFor(t, l)
	config := "\x90hvc1\x01" + strings.Repeat("\x00", 30)
	p := rtmpPush(t, near, "rtmp", "live", "s")
	if err := p.send([]rtmpFrame{{flv.TagVideo, 0, config}, {flv.TagVideo, 0, "\x93hvc1\x00\x00\x00\x01\x26"}}); err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "one is live and one refused", func() bool { return pushStates(near) == "live refused" })
	for _, status := range near.web.Pushes.List() {
		if status.State == push.Refused && (!strings.Contains(status.Error, "hvc1") || status.Tries != 1) {
			t.Errorf("%+v", status)
		}
	}
	p.close()
	rtmpUntil(t, "it has ended", func() bool { return near.host.Register.Number(session.RolePublisher) == 0 })
	p = rtmpPush(t, near, "rtmp", "live", "s")
	if err := p.send(rtmpClip()[:20]); err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "both are live", func() bool { return pushStates(near) == "live live" })
}

// targetFor accepts publishers until the test ends, says that it takes AV1 and nothing else, and reads.
func targetFor(t *testing.T, l net.Listener) {
	var accepting, reading sync.WaitGroup
	var conns []net.Conn
	t.Cleanup(func() {
		l.Close()
		accepting.Wait()
		for _, conn := range conns {
			conn.Close()
		}
		reading.Wait()
	})
	accepting.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conns = append(conns, conn)
			reading.Go(func() { readAsTarget(conn) })
		}
	})
}

func readAsTarget(conn net.Conn) {
	defer conn.Close()
	r, w := sluice.NewBufReader(conn), sluice.NewBufWriter(conn)
	c := rtmp.NewConn(r, w, rtmp.Options{Capabilities: rtmp.Capabilities{FourCCs: []string{"av01"}}})
	defer func() {
		c.Recycle()
		r.Recycle()
		w.Recycle()
	}()
	if c.ServerHandshake() != nil {
		return
	}
	if req, err := c.ReadRequest(); err != nil || c.Accept(req) != nil {
		return
	}
	for {
		m, err := c.ReadMessage()
		if err != nil {
			return
		}
		m.Release()
	}
}
