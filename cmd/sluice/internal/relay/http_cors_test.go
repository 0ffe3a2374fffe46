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
		for _, path := range []string{"/live/s.flv", "/live/none.flv"} {
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
		// A preflight names what pages may do with media, which is to play.
		ask := header.Clone()
		ask.Set("Access-Control-Request-Method", "POST")
		resp := s.request(t, "OPTIONS", "/live/s.flv", ask)
		resp.Body.Close()
		want := ""
		if c.allowed != "" {
			want = "GET, HEAD"
		}
		if h := resp.Header; resp.StatusCode != 204 || h.Get("Access-Control-Allow-Origin") != c.allowed || h.Get("Access-Control-Allow-Methods") != want {
			t.Errorf("%s: OPTIONS: %s %v", c.name, resp.Status, h)
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

// Pages of other origins may play, where CORS says so, and nothing else: neither
// publish, with the plain POST that browsers let every page make, nor look at
// the API, nor change something.
func TestForeignPagesMayOnlyPlay(t *testing.T) {
	const token = "0123456789"
	for _, cors := range []string{"*", "https://evil.example"} {
		s := startRelay(t, func(c *relayConfig) {
			c.CORS, c.AllowPublish, c.APIToken = []string{cors}, []string{"127.0.0.1"}, token
		})
		for name, header := range map[string]http.Header{
			"a page":                  {"Origin": {"https://evil.example"}},
			"a page, and it says so":  {"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}},
			"a page without origin":   {"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"no-cors"}},
			"a page of the same site": {"Origin": {"http://other." + s.http}, "Sec-Fetch-Site": {"same-site"}},
			"a sandboxed frame":       {"Origin": {"null"}},
			"a form that is sent":     {"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}},
		} {
			header = header.Clone()
			header.Set("Content-Type", "text/plain")
			body := string(flvtest.Header)
			req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+s.http+"/live/s.flv", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = header
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: relayWait}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != 403 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s publishes: %s %v", name, resp.Status, resp.Header)
			}
			header.Set("Authorization", "Bearer "+token) // a browser may know it
			for _, path := range []string{"GET /api/clients", "GET /api/streams", "DELETE /api/clients/v1", "OPTIONS /api/clients/v1", "GET /metrics"} {
				if header.Get("Sec-Fetch-Mode") == "navigate" && strings.HasPrefix(path, "GET") {
					continue // a link
				}
				method, path, _ := strings.Cut(path, " ")
				resp := s.request(t, method, path, header)
				resp.Body.Close()
				if resp.StatusCode != 403 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s: %s %s: %s %v", name, method, path, resp.Status, resp.Header)
				}
			}
		}
		// The server's own page, and programs, may.
		for name, header := range map[string]http.Header{
			"own page":                     {"Origin": {"http://" + s.http}},
			"own page behind a proxy":      {"Origin": {"https://tv.example"}, "Sec-Fetch-Site": {"same-origin"}},
			"an address that is typed":     {"Sec-Fetch-Site": {"none"}, "Sec-Fetch-Mode": {"navigate"}},
			"a link that somebody follows": {"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}},
			"a program":                    {},
		} {
			header.Set("Authorization", "Bearer "+token)
			if status, text := s.do(t, "GET", "/api/clients", header); status != 200 {
				t.Errorf("%s: %d %s", name, status, text)
			}
		}
		s.Close()
	}
}
