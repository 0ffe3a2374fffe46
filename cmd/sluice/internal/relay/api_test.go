package relay

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/web"
)

// shape says what a JSON value is made of, so that keys and kinds can be
// compared with the contract.
func shape(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for k, x := range v {
			m[k] = shape(x)
		}
		return m
	case []any:
		if len(v) == 0 {
			return []any{}
		}
		return []any{shape(v[0])}
	case float64:
		return "number"
	case string:
		return "string"
	}
	return fmt.Sprint(v)
}

const streamShape = `{"name":"string","state":"string","publisher":{"id":"string","address":"string","protocol":"string","since":"string"},
	"since":"string","viewers":"number","protocols":{"flv":"number"},
	"video":{"codec":"string","width":"number","height":"number"},"audio":{"codec":"string","rate":"number","channels":"number"},
	"tracks":[{"kind":"string","track":"number","codec":"string","width":"number","height":"number"}],
	"bitrate_in":"number","bitrate_out":"number","frame_rate":"number",
	"gop":{"frames":"number","bytes":"number","ms":"number"},"ring":{"frames":"number","bytes":"number"},
	"frames_in":"number","bytes_in":"number","frames_out":"number","bytes_out":"number",
	"dropped":"number","jumps":"number","evicted":"number","merge_ms":"number"%s}`

const historyShape = `,"history":{"step_ms":"number","t":"number","viewers":["number"],"in":["number"],"out":["number"],"fps":["number"],"dropped":["number"]}`

func sameShape(t *testing.T, what, text, want string) {
	t.Helper()
	var got, expected any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%s: %v: %s", what, err, text)
	}
	if err := json.Unmarshal([]byte(want), &expected); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if got := shape(got); !reflect.DeepEqual(got, expected) {
		t.Errorf("%s has the shape\n%v\nwant\n%v", what, got, expected)
	}
}

func TestAPIShape(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) {
		c.Version, c.times.Sample = "v1", 10*time.Millisecond
		c.Merge = 30 * time.Millisecond
	})
	if _, text := s.get(t, "/api/streams"); !strings.Contains(text, `"streams":[]`) {
		t.Errorf("without streams: %s", text)
	}
	if _, text := s.get(t, "/api/clients"); text != `{"clients":[]}`+"\n" {
		t.Errorf("without clients: %s", text)
	}
	clip := flvtest.Clip(t)
	p := s.publishing(t, "/live/s.flv")
	p.send(t, clip[:len(clip)/2]...)
	relayEventually(t, "the stream", func() bool {
		st, ok := s.host.Hub.Stream("live/s")
		return ok && int(st.Stats().FramesIn) == len(clip)/2
	})
	_, flv := s.playing(t, "/live/s.flv?merge=40")
	if _, err := flv.Next(); err != nil {
		t.Fatal(err)
	}
	sent := len(clip) / 2
	relayEventually(t, "samples, with a frame in one of them", func() bool {
		p.send(t, clip[sent]) // the history has the latest seconds only
		sent++
		var st web.StreamInfo
		_, text := s.get(t, "/api/streams/live/s?history=1")
		return json.Unmarshal([]byte(text), &st) == nil && st.History != nil && len(st.History.Viewers) > 3 && slices.Max(st.History.In) > 0
	})
	s.received(t, "live/s", int64(sent))
	const frame = `{"now":"number","server":{"version":"string","uptime_s":"number","goroutines":"number","resident":"number","merge_ms":"number"},
		"memory":{"out":"number","idle":"number","pinned":"number"},"streams":[%s]}`
	_, text := s.get(t, "/api/streams")
	sameShape(t, "/api/streams", text, fmt.Sprintf(frame, fmt.Sprintf(streamShape, "")))
	_, text = s.get(t, "/api/streams?history=1")
	sameShape(t, "/api/streams?history=1", text, fmt.Sprintf(frame, fmt.Sprintf(streamShape, historyShape)))
	_, one := s.get(t, "/api/streams/live/s?history=1")
	sameShape(t, "/api/streams/live/s", one, fmt.Sprintf(streamShape, historyShape))

	var answer web.StreamList
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(err)
	}
	st := answer.Streams[0]
	if st.Name != "live/s" || st.State != "live" || st.Publisher.ID != "p1" || st.Publisher.Protocol != "flv" || st.Viewers != 1 || st.Protocols["flv"] != 1 {
		t.Errorf("%+v", st)
	}
	if *st.Video != (web.VideoInfo{Codec: "avc1", Width: 640, Height: 360}) || *st.Audio != (web.AudioInfo{Codec: "mp4a", Rate: st.Audio.Rate, Channels: st.Audio.Channels}) || st.Audio.Rate < 8000 || st.Audio.Channels == 0 {
		t.Errorf("video %+v, audio %+v", st.Video, st.Audio)
	}
	if st.FramesIn != int64(sent) || st.BytesIn == 0 || st.GOP.Frames == 0 || st.GOP.MS == 0 || st.Ring.Frames == 0 || st.MergeMS != 30 {
		t.Errorf("%+v", st)
	}
	if answer.Server.Version != "v1" || answer.Server.Resident < 1<<20 || answer.Server.Goroutines < 2 || answer.Server.MergeMS != 30 || answer.Memory.Out <= 0 {
		t.Errorf("%+v %+v", answer.Server, answer.Memory)
	}
	if age := time.Since(time.UnixMilli(answer.Now)); age < 0 || age > time.Minute {
		t.Errorf("now is %v ago", age)
	}
	h := st.History
	if h.StepMS != 10 || len(h.Viewers) < 3 || len(h.In) != len(h.Viewers) || len(h.FPS) != len(h.Viewers) {
		t.Errorf("%+v", h)
	}

	_, text = s.get(t, "/api/clients")
	sameShape(t, "/api/clients", text, `{"clients":[{"id":"string","role":"string","stream":"string","protocol":"string","address":"string","agent":"string",
		"since":"string","bytes":"number","frames":"number","lag_ms":"number","jumps":"number","dropped":"number","merge_ms":"number"}]}`)
	var who struct{ Clients []web.ClientInfo }
	if err := json.Unmarshal([]byte(text), &who); err != nil || len(who.Clients) != 2 {
		t.Fatalf("%v: %s", err, text)
	}
	if c := who.Clients[0]; c.ID != "p1" || c.Role != session.RolePublisher || c.Frames != int64(sent) || c.Bytes == 0 || !strings.HasPrefix(c.Address, "127.0.0.1:") {
		t.Errorf("%+v", c)
	}
	if c := who.Clients[1]; c.ID != "v1" || c.Role != session.RoleViewer || c.MergeMS != 40 || c.Agent != "test/1" || c.Stream != "live/s" {
		t.Errorf("%+v", c)
	}
	p.Close()
	p.answered(t)
}

func TestAPIOfAStreamWithoutPublisher(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.Grace = time.Minute })
	p := s.publishing(t, "/live/s.flv")
	p.send(t, flvtest.Tag{Type: 8, Payload: "\x2f\xff"}) // MP3, which has no configuration
	p.Close()
	p.answered(t)
	var st web.StreamInfo
	_, text := s.get(t, "/api/streams/live/s")
	if err := json.Unmarshal([]byte(text), &st); err != nil {
		t.Fatal(err)
	}
	if st.State != "grace" || st.Publisher != nil || st.Video != nil || st.History != nil || !strings.Contains(text, `"publisher":null`) || !strings.Contains(text, `"protocols":{}`) {
		t.Errorf("%s", text)
	}
}

// TestAllowNamesWhatIsTaken has Allow name all methods of a resource (RFC 9110, section 10.2.1), the
// same after OPTIONS as after a method that is not among them.
func TestAllowNamesWhatIsTaken(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.Record = t.TempDir() })
	for path, want := range map[string]string{
		"/live/s.flv":             "GET, HEAD, POST, PUT, OPTIONS",
		"/live/s.m3u8":            "GET, HEAD, OPTIONS",
		"/api/recordings/live/s-": "GET, HEAD, OPTIONS, DELETE",
		"/api/clips":              "GET, HEAD, OPTIONS",
		"/api/recordings":         "GET, HEAD, POST, DELETE",
	} {
		for method, status := range map[string]int{"OPTIONS": 204, "PATCH": 405} {
			if path == "/api/recordings" {
				status = 405 // not for pages of other origins
			}
			resp := s.request(t, method, path, nil)
			resp.Body.Close()
			if got := resp.Header.Get("Allow"); resp.StatusCode != status || got != want {
				t.Errorf("%s %s: %s, Allow %q, want %q", method, path, resp.Status, got, want)
			}
		}
	}
}

func TestAPIErrors(t *testing.T) {
	s := startRelay(t, nil)
	for _, c := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/api/", 404, ""},
		{"GET", "/api/nothing", 404, ""},
		{"GET", "/api/streams/live/none", 404, ""},
		{"GET", "/api/streams?history=2", 400, ""},
		{"POST", "/api/streams", 405, "GET, HEAD"},
		{"DELETE", "/api/streams/live/s", 405, "GET, HEAD"},
		{"GET", "/api/clients/v1", 405, "DELETE"},
		{"DELETE", "/api/clients/v1", 403, ""},
		{"DELETE", "/api/clients/", 405, "GET, HEAD"},
		{"POST", "/healthz", 405, "GET, HEAD"},
		{"POST", "/metrics", 405, "GET, HEAD"},
	} {
		resp := s.request(t, c.method, c.path, nil)
		var e struct{ Error string }
		err := json.NewDecoder(resp.Body).Decode(&e)
		resp.Body.Close()
		if resp.StatusCode != c.status || err != nil || e.Error == "" || resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("Allow") != c.allow {
			t.Errorf("%s %s: %s %v %q", c.method, c.path, resp.Status, resp.Header, e.Error)
		}
	}
	if _, text := s.get(t, "/api/nothing"); !strings.Contains(text, "bans, clients, clips, cluster, events, pushes, recordings, reload, streams, tokens") {
		t.Errorf("what there is: %s", text)
	}
	if status, text := s.get(t, "/healthz"); status != 200 || text != "ok\n" {
		t.Errorf("%d %q", status, text)
	}
	resp := s.request(t, "HEAD", "/api/streams", nil)
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("HEAD: %s", resp.Status)
	}
}

func TestKick(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.APIToken = "0123456789" })
	bearer := http.Header{"Authorization": {"Bearer 0123456789"}}
	clip := flvtest.Clip(t)
	p := s.publishing(t, "/live/s.flv")
	p.send(t, clip[:20]...)
	relayEventually(t, "the stream", func() bool { return len(s.host.Hub.Streams()) == 1 })
	_, kicked := s.playing(t, "/live/s.flv")
	_, stays := s.playing(t, "/live/s.flv")
	s.viewersOf(t, "live/s", 2)
	if status, text := s.do(t, "DELETE", "/api/clients/v1", bearer); status != 204 || text != "" {
		t.Errorf("%d %q", status, text)
	}
	for {
		if _, err := kicked.Next(); err != nil {
			break
		}
	}
	s.log.line(t, "viewer ended", "id=v1", "reason=kicked")
	s.viewersOf(t, "live/s", 1)
	p.send(t, clip[20:40]...)
	for range 20 {
		if _, err := stays.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if status, _ := s.do(t, "DELETE", "/api/clients/v1", bearer); status != 404 {
		t.Errorf("again: %d", status)
	}
	// A publisher that waits to send is notified at once.
	if status, _ := s.do(t, "DELETE", "/api/clients/p1", bearer); status != 204 {
		t.Errorf("publisher: %d", status)
	}
	if a := p.answered(t); a.status != 409 || !strings.Contains(a.text, "kicked") {
		t.Errorf("%+v", a)
	}
	s.log.line(t, "publisher ended", "id=p1", "reason=kicked")
	relayEventually(t, "nobody", func() bool { return len(s.host.Register.List()) == 0 && len(s.host.Hub.Streams()) == 0 })
}

func TestWhoMayUseTheAPI(t *testing.T) {
	const token = "0123456789"
	bearer := http.Header{"Authorization": {"Bearer " + token}}
	wrong := http.Header{"Authorization": {"Bearer 012345678"}}
	for _, c := range []struct {
		name, token, method, path, peer string
		header                          http.Header
		status                          int
	}{
		{"open", "", "GET", "/api/streams", "10.0.0.1:1", nil, 200},
		{"open metrics", "", "GET", "/metrics", "10.0.0.1:1", nil, 200},
		{"local kick", "", "DELETE", "/api/clients/v1", "127.0.0.1:1", nil, 403},
		{"foreign kick", "", "DELETE", "/api/clients/v1", "10.0.0.1:1", nil, 403},
		{"a bearer where there is no token", "", "DELETE", "/api/clients/v1", "10.0.0.1:1", bearer, 403},
		{"an empty bearer", "", "DELETE", "/api/clients/v1", "10.0.0.1:1", http.Header{"Authorization": {"Bearer "}}, 403},
		{"by another page", token, "DELETE", "/api/clients/v1", "127.0.0.1:1", http.Header{"Origin": {"https://evil.example"}, "Authorization": {"Bearer " + token}}, 403},
		{"by the own page", token, "DELETE", "/api/clients/v1", "127.0.0.1:1", http.Header{"Origin": {"http://127.0.0.1:8080"}, "Authorization": {"Bearer " + token}}, 404},
		{"closed", token, "GET", "/api/streams", "10.0.0.1:1", nil, 401},
		{"closed metrics", token, "GET", "/metrics", "10.0.0.1:1", nil, 401},
		{"health stays open", token, "GET", "/healthz", "10.0.0.1:1", nil, 200},
		{"with token", token, "GET", "/api/clients", "10.0.0.1:1", bearer, 200},
		{"whatever the case of the scheme", token, "GET", "/api/clients", "10.0.0.1:1", http.Header{"Authorization": {"bearer " + token}}, 200},
		{"another scheme", token, "GET", "/api/clients", "10.0.0.1:1", http.Header{"Authorization": {"Basic " + token}}, 401},
		{"with a wrong token", token, "GET", "/api/clients", "10.0.0.1:1", wrong, 401},
		{"with a wrong token from here", token, "GET", "/api/clients", "127.0.0.1:1", wrong, 401},
		{"local", token, "GET", "/api/clients", "127.0.0.1:1", nil, 401},
		{"local streams", token, "GET", "/api/streams", "[::1]:1", nil, 401},
		{"local metrics", token, "GET", "/metrics", "127.0.0.1:1", nil, 401},
		{"an empty bearer where there is a token", token, "GET", "/api/clients", "127.0.0.1:1", http.Header{"Authorization": {"Bearer "}}, 401},
		{"the token without its scheme", token, "GET", "/api/clients", "127.0.0.1:1", http.Header{"Authorization": {token}}, 401},
		{"kick with token", token, "DELETE", "/api/clients/v1", "10.0.0.1:1", bearer, 404},
		{"kick without", token, "DELETE", "/api/clients/v1", "10.0.0.1:1", nil, 401},
	} {
		settings := config.Default()
		settings.APIToken = c.token
		s, err := New(settings, Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(c.method, "http://127.0.0.1:8080"+c.path, nil)
		r.RemoteAddr = c.peer
		for name, values := range c.header {
			r.Header[name] = values
		}
		if host := r.Header.Get("Host"); host != "" {
			r.Host = host
		}
		rw := httptest.NewRecorder()
		s.web.ServeHTTP(rw, r)
		if rw.Code != c.status {
			t.Errorf("%s: %d %s, want %d", c.name, rw.Code, rw.Body, c.status)
		}
		if (rw.Code == 401) != (rw.Header().Get("WWW-Authenticate") != "") {
			t.Errorf("%s: %v", c.name, rw.Header())
		}
		s.Close()
	}
}
