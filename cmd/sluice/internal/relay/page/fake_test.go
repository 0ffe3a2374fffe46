package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/sluice-go/sluice/internal/flvclip"
)

// A fakeServer has the paths of the live server with canned numbers, and plays
// the clip in real time, again and again.
type fakeServer struct {
	*httptest.Server

	mu      sync.Mutex
	streams []map[string]any
	clients []map[string]any
	token   string // needed to kick, unless empty
	closed  bool   // the API needs the token too
	broken  bool   // the API fails
	silent  bool   // the clip has no sound
	late    bool   // the API answers only once something is played
	play    string // the token needed to play, unless empty
	kicked  []string
	asked   []string // changes of bans and tokens
	played  []string // request URIs of the plays
	node    string   // on which the target of pushes was added
	over    int      // rises to end the plays that go on
	other   string   // URL of the server to which those are sent who ask where to connect
	gone    bool     // plays are not answered
	held    bool     // plays have no answer for as long as they are waited for
	left    int      // of those, how many are over
	untaken bool     // the offers of WHEP have no codec of the stream

	findings []map[string]any // of the doctor
	examined []string         // streams
	stalled  bool             // nothing more of the clip is sent
}

func newFakeServer(t *testing.T, o Options) *fakeServer {
	f := &fakeServer{}
	mux := http.NewServeMux()
	page := Handler(o)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".flv") {
			f.media(w, r)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/live/s/whep") {
			f.whep(w, r)
			return
		}
		page.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /api/streams", func(w http.ResponseWriter, r *http.Request) {
		f.awaitPlay(r)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.broken {
			fakeAnswer(w, http.StatusInternalServerError, map[string]any{"error": "it is broken."})
			return
		}
		if f.closed && r.Header.Get("Authorization") != "Bearer "+f.token {
			fakeAnswer(w, http.StatusUnauthorized, map[string]any{"error": "the API token is missing"})
			return
		}
		fakeAnswer(w, http.StatusOK, map[string]any{
			"now":    time.Now().UnixMilli(),
			"server": map[string]any{"version": "v0.9.1-0.20261129165647-e5d973b9e32f+dirty", "uptime_s": 93784, "goroutines": 40, "resident": 31 << 20, "merge_ms": 80},
			"memory": map[string]any{"out": 5 << 20, "idle": 2 << 20, "pinned": 1 << 20}, "streams": f.streams,
		})
	})
	mux.HandleFunc("GET /api/streams/{app}/{name}/doctor", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.closed && r.Header.Get("Authorization") != "Bearer "+f.token {
			fakeAnswer(w, http.StatusUnauthorized, map[string]any{"error": "the API token is missing"})
			return
		}
		f.examined = append(f.examined, r.PathValue("app")+"/"+r.PathValue("name"))
		findings := f.findings
		if findings == nil {
			findings = []map[string]any{}
		}
		fakeAnswer(w, http.StatusOK, map[string]any{"healthy": len(findings) == 0, "findings": findings})
	})
	mux.HandleFunc("GET /api/rewind", func(w http.ResponseWriter, r *http.Request) {
		fakeAnswer(w, http.StatusOK, map[string]any{"recorded_since": nil})
	})
	mux.HandleFunc("GET /api/clients", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		fakeAnswer(w, http.StatusOK, map[string]any{"clients": f.clients})
	})
	mux.HandleFunc("DELETE /api/clients/{id}", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.token != "" && r.Header.Get("Authorization") != "Bearer "+f.token {
			fakeAnswer(w, http.StatusUnauthorized, map[string]any{"error": "the API token is missing"})
			return
		}
		id := r.PathValue("id")
		n := len(f.clients)
		f.clients = slices.DeleteFunc(f.clients, func(c map[string]any) bool { return c["id"] == id })
		if len(f.clients) == n {
			fakeAnswer(w, http.StatusNotFound, map[string]any{"error": "no such client"})
			return
		}
		f.kicked = append(f.kicked, strings.TrimSuffix(id+"?"+r.URL.RawQuery, "?"))
		w.WriteHeader(http.StatusNoContent)
	})
	f.operate(mux)
	f.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

func fakeAnswer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func (f *fakeServer) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// until waits for something that the page does.
func (f *fakeServer) until(t *testing.T, done func() bool) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	late := time.After(longest)
	for {
		ok := false
		f.set(func() { ok = done() })
		if ok {
			return
		}
		select {
		case <-again.C:
		case <-late:
			t.Fatalf("waited in vain; played were %q, kicked %q", f.played, f.kicked)
		}
	}
}

// awaitPlay holds a request to a late API back.
func (f *fakeServer) awaitPlay(r *http.Request) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		wait := false
		f.set(func() { wait = f.late && len(f.played) == 0 })
		if !wait {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

// media answers a play: the first two seconds at once, as a server with a GOP
// cache does, and then as time goes.
func (f *fakeServer) media(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	f.mu.Lock()
	if f.gone {
		f.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	if r.URL.Query().Has("where") {
		url := f.other
		if url != "" {
			url += r.URL.Path + "?token=" + r.URL.Query().Get("token") + "&placed=1"
		}
		f.mu.Unlock()
		fakeAnswer(w, http.StatusOK, map[string]string{"url": url})
		return
	}
	if r.Method != http.MethodHead {
		f.played = append(f.played, r.RequestURI)
	}
	known := slices.ContainsFunc(f.streams, func(s map[string]any) bool { return "/"+s["name"].(string)+".flv" == r.URL.Path })
	silent, held := f.silent, f.held
	allowed := f.play == "" || r.URL.Query().Get("token") == f.play
	f.mu.Unlock()
	switch {
	case !known:
		fakeAnswer(w, http.StatusNotFound, map[string]any{"error": "no such stream"})
		return
	case !allowed:
		fakeAnswer(w, http.StatusForbidden, map[string]any{"error": "a token is needed"})
		return
	case r.Method == http.MethodHead:
		return
	case held:
		<-r.Context().Done()
		f.set(func() { f.left++ })
		return
	}
	if websocket.IsWebSocketUpgrade(r) {
		// The server has to check the origin, which is not asked for here.
		conn, err := (&websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		f.pace(r, silent, func(p []byte) error { return conn.WriteMessage(websocket.BinaryMessage, p) })
		conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""))
		return
	}
	w.Header().Set("Content-Type", "video/x-flv")
	w.Header().Set("Cache-Control", "no-store") // as the relay: a cache could ask again
	f.pace(r, silent, func(p []byte) error {
		if _, err := w.Write(p); err != nil {
			return err
		}
		return http.NewResponseController(w).Flush()
	})
}

func (f *fakeServer) pace(r *http.Request, silent bool, send func([]byte) error) {
	const headStart, length = 2000, 10_000 // ms
	begin, over := time.Now(), 0
	f.set(func() { over = f.over })
	tick := time.NewTicker(40 * time.Millisecond)
	defer tick.Stop()
	if send(flvclip.File[:13]) != nil {
		return
	}
	for lap := 0; ; lap++ {
		rest := flvclip.File[13:]
		for len(rest) > 0 {
			for stalled := true; stalled; {
				before := time.Now()
				select {
				case <-tick.C:
				case <-r.Context().Done():
					return
				}
				ended := false
				f.set(func() { stalled, ended = f.stalled, f.over != over })
				if ended {
					return
				}
				if stalled {
					begin = begin.Add(time.Since(before))
				}
			}
			var batch []byte
			limit := time.Since(begin).Milliseconds() + headStart
			for len(rest) > 0 {
				size := 11 + int(rest[1])<<16 + int(rest[2])<<8 + int(rest[3]) + 4
				at := int64(rest[4])<<16 + int64(rest[5])<<8 + int64(rest[6]) + int64(lap)*length
				if at > limit {
					break
				}
				if sound := rest[0] == 8; !sound || !silent {
					n := len(batch)
					batch = append(batch, rest[:size]...)
					batch[n+4], batch[n+5], batch[n+6] = byte(at>>16), byte(at>>8), byte(at)
				}
				rest = rest[size:]
			}
			if len(batch) > 0 && send(batch) != nil {
				return
			}
		}
	}
}

// fakeStream is what the API says of a stream, n of many.
func fakeStream(name string, n int) map[string]any {
	series := func(f func(i int) float64) []float64 {
		list := make([]float64, 150)
		for i := range list {
			list[i] = f(i)
		}
		return list
	}
	now := time.Now()
	since := now.Add(-27 * time.Minute).Format(time.RFC3339)
	return map[string]any{
		"name": name, "state": "live", "since": since, "viewers": 3 + n, "protocols": map[string]int{"rtmp": 1, "flv": 1 + n, "ws": 1},
		"publisher": map[string]any{"id": "p1", "address": "192.0.2.7:51234", "protocol": "rtmp", "since": since},
		"video":     map[string]any{"codec": "avc1", "width": 640, "height": 360}, "audio": map[string]any{"codec": "mp4a", "rate": 44100, "channels": 2},
		"bitrate_in": 2_134_000, "bitrate_out": 2_134_000 * (3 + n), "frame_rate": 29.97,
		"gop": map[string]any{"frames": 60, "bytes": 517_000, "ms": 2000}, "ring": map[string]any{"frames": 231, "bytes": 1_200_000},
		"frames_in": 121_500, "bytes_in": 432_000_000, "frames_out": 364_500, "bytes_out": 1_296_000_000,
		"dropped": 42, "jumps": 2, "evicted": 1, "merge_ms": 80,
		"history": map[string]any{
			"step_ms": 2000, "t": now.UnixMilli(),
			"viewers": series(func(i int) float64 { return float64(1 + i/50) }),
			"in":      series(func(i int) float64 { return 2e6 + float64(i*7919%400_000) }),
			"out":     series(func(i int) float64 { return float64(1+i/50) * (2e6 + float64(i*7919%400_000)) }),
			"fps":     series(func(i int) float64 { return 29.9 + float64(i%3)/10 }),
			"dropped": series(func(i int) float64 { return float64(12 * (i % 70 / 69)) }),
		},
	}
}

func fakeClients(stream string) []map[string]any {
	since := time.Now().Add(-95 * time.Second).Format(time.RFC3339)
	return []map[string]any{
		{"id": "p1", "role": "publisher", "stream": stream, "protocol": "rtmp", "address": "192.0.2.7:51234", "agent": "FMLE/3.0 (compatible; Lavf61.7)", "since": since, "bytes": 432_000_000, "frames": 121_500},
		{"id": "v12", "role": "viewer", "stream": stream, "protocol": "flv", "address": "198.51.100.20:40112", "agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36", "since": since, "bytes": 25_000_000, "frames": 6900, "lag_ms": 84, "jumps": 0, "dropped": 0, "merge_ms": 80},
		{"id": "v13", "role": "viewer", "stream": stream, "protocol": "ws", "address": "[2001:db8::17]:5050", "agent": "<b>bold</b>", "since": since, "bytes": 20_000_000, "frames": 6000, "lag_ms": 2150, "jumps": 2, "dropped": 42, "merge_ms": 80},
	}
}

// fakeMany is a busy server.
func fakeMany(n int) []map[string]any {
	var list []map[string]any
	for i := range n {
		s := fakeStream(fmt.Sprintf("live/camera-%d", i+1), i%9)
		if i == 3 {
			s["state"], s["publisher"] = "grace", nil
		}
		list = append(list, s)
	}
	return list
}

// hostileNames are what strangers may call a stream.
var hostileNames = []string{
	`live/<img src=x onerror="document.title='pwned'">`,
	`live/"><script>document.title='pwned'</script>`,
	`live/it's $(reboot) ` + "`reboot` \\ %41 ?#&+;",
	"live/" + strings.Repeat("long", 100),
	"live/\u202egnp.exe\n\x1b[31m",
	`__proto__`,
	`constructor/toString`,
}
