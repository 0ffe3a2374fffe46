package relay

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
)

func TestCORS(t *testing.T) {
	const page = "https://page.example"
	for _, c := range []struct {
		name    string
		setting []string
		origin  string
		allowed string // Access-Control-Allow-Origin
		socket  bool   // WebSocket is let in
	}{
		{"all", []string{"*"}, page, "*", true},
		{"all, no page", []string{"*"}, "", "*", true},
		{"listed", []string{"https://other.example", page}, page, page, true},
		{"listed in capitals", []string{page}, strings.ToUpper(page), strings.ToUpper(page), true},
		{"not listed", []string{"https://other.example"}, page, "", false},
		{"another port", []string{page}, page + ":8443", "", false},
		{"another scheme", []string{page}, "http://page.example", "", false},
		{"a longer name", []string{page}, page + ".evil.example", "", false},
		{"null", []string{page}, "null", "", false},
		{"off", []string{"off"}, page, "", false},
		{"off, no page", []string{"off"}, "", "", true},
		{"nothing", nil, page, "", false},
		{"off, own page", []string{"off"}, "http://ADDRESS", "", true},
	} {
		s := startRelay(t, func(config *relayConfig) { config.CORS = c.setting })
		p := s.publishing(t, "/live/s.flv")
		p.send(t, flvtest.Clip(t)[:10]...)
		relayEventually(t, "the stream", func() bool { return len(s.host.Hub.Streams()) == 1 })
		header := http.Header{}
		if c.origin != "" {
			header.Set("Origin", strings.Replace(c.origin, "ADDRESS", s.http, 1))
		}
		for _, path := range []string{"/live/s.flv", "/live/none.flv", "/api/streams"} {
			for _, method := range []string{"HEAD", "GET"} {
				resp := s.request(t, method, path, header)
				resp.Body.Close()
				if got := resp.Header.Get("Access-Control-Allow-Origin"); got != c.allowed {
					t.Errorf("%s: %s %s: allows %q, want %q", c.name, method, path, got, c.allowed)
				}
				if vary := resp.Header.Get("Vary"); c.allowed != "*" && c.allowed != "" && vary != "Origin" {
					t.Errorf("%s: %s %s: Vary %q", c.name, method, path, vary)
				}
			}
		}
		// A preflight names what may be done, which for the API is to look.
		for path, methods := range map[string]string{"/live/s.flv": "GET, HEAD, POST, PUT", "/api/clients/v1": "GET, HEAD"} {
			ask := header.Clone()
			ask.Set("Access-Control-Request-Method", "DELETE")
			resp := s.request(t, "OPTIONS", path, ask)
			resp.Body.Close()
			h := resp.Header
			if resp.StatusCode != 204 || h.Get("Access-Control-Allow-Origin") != c.allowed || h.Get("Allow") != methods+", OPTIONS" {
				t.Errorf("%s: OPTIONS %s: %s %v", c.name, path, resp.Status, h)
			}
			want := ""
			if c.allowed != "" {
				want = methods
			}
			if got := h.Get("Access-Control-Allow-Methods"); got != want {
				t.Errorf("%s: OPTIONS %s: methods %q, want %q", c.name, path, got, want)
			}
		}
		socket, resp, err := websocket.DefaultDialer.Dial("ws://"+s.http+"/live/s.flv", header)
		if (err == nil) != c.socket || err != nil && (resp == nil || resp.StatusCode != 403) {
			t.Errorf("%s: WebSocket: %v, %v", c.name, err, resp)
		}
		if err == nil {
			socket.Close()
		}
		s.Close()
	}
}
