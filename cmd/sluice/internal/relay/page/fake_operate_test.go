package page

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// operate adds what only the operator's page asks for, to those with the token.
func (f *fakeServer) operate(mux *http.ServeMux) {
	answer := func(pattern string, v func(r *http.Request) any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.closed && r.Header.Get("Authorization") != "Bearer "+f.token {
				fakeAnswer(w, http.StatusUnauthorized, map[string]any{"error": "the API token is missing"})
				return
			}
			if r.Method != http.MethodGet {
				f.asked = append(f.asked, r.Method+" "+strings.TrimSuffix(r.URL.Path+"?"+r.URL.RawQuery, "?"))
			}
			fakeAnswer(w, http.StatusOK, v(r))
		})
	}
	until := time.Now().Add(time.Hour).Format(time.RFC3339)
	ban := map[string]any{"id": "b1", "by": "address", "value": "192.0.2.9/32", "action": "", "until": until}
	answer("GET /api/bans", func(*http.Request) any { return map[string]any{"bans": []any{ban}} })
	answer("POST /api/bans", func(*http.Request) any { return ban })
	answer("DELETE /api/bans/{id}", func(*http.Request) any { return nil })
	answer("GET /api/pushes", func(*http.Request) any {
		return map[string]any{"pushes": []any{
			map[string]any{"stream": "live/s", "target": "rtmp://other/live", "state": "live", "bytes": 5_000_000, "dropped": 0},
			map[string]any{"stream": "live/s", "target": "rtmps://third/app", "state": "waiting", "bytes": 0, "dropped": 3, "error": "connection refused"},
		}, "targets": []any{map[string]any{"id": "t1", "pattern": "live/*", "target": "rtmps://third/app", "enhanced": true, "node": f.node}}}
	})
	answer("POST /api/pushes", func(r *http.Request) any {
		text, _ := io.ReadAll(r.Body)
		f.asked = append(f.asked, string(text))
		return nil
	})
	answer("GET /api/recordings", func(*http.Request) any {
		return map[string]any{"total": 2, "recordings": []any{
			map[string]any{"file": "live/s-20260102-150405.mp4", "stream": "live/s", "begin": until, "duration_ms": 61_000, "size": 15_000_000, "writing": true},
			map[string]any{"file": "live/s-20260102-140405.mp4", "stream": "live/s", "begin": until, "duration_ms": 3_600_000, "size": 900_000_000, "writing": false},
		}}
	})
	answer("POST /api/recordings", func(*http.Request) any { return nil })
	answer("DELETE /api/recordings", func(*http.Request) any { return nil })
	answer("DELETE /api/recordings/{file...}", func(*http.Request) any { return nil })
	answer("DELETE /api/pushes/{id}", func(*http.Request) any { return nil })
	answer("GET /api/events", func(r *http.Request) any {
		events := []any{}
		if r.URL.Query().Get("after") == "0" {
			at := time.Now().Format(time.RFC3339)
			events = append(events,
				map[string]any{"id": "1", "time": at, "event": "publish_begin", "stream": "live/s", "session": "p1", "address": "192.0.2.7:51234", "protocol": "rtmp"},
				map[string]any{"id": "2", "time": at, "event": "evicted", "stream": "live/<b>x</b>", "session": "v3", "address": "192.0.2.8:51234", "protocol": "flv",
					"bytes": 123456, "frames": 17, "duration_ms": 61000, "code": "slow", "reason": "too slow for the stream"})
		}
		if f.node == "" {
			return map[string]any{"events": events, "last": 2}
		}
		for _, e := range events {
			e := e.(map[string]any)
			e["id"], e["on"] = e["id"].(string)+"@"+f.node, f.node
		}
		return map[string]any{"events": events, "last": "2@" + f.node}
	})
	answer("POST /api/tokens", func(r *http.Request) any {
		q := r.URL.Query()
		return map[string]any{"token": "cam7.1.abc", "id": "cam7", "action": q.Get("action"), "stream": q.Get("stream"), "expires": until}
	})
}
