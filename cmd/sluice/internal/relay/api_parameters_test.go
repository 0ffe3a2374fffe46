package relay

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
)

// What changes something refuses parameters that it does not know, and changes nothing then.
func TestUnknownParametersAreRefused(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) {
		c.APIToken, c.TokenSecret, c.Record, c.RecordAll = "0123456789", "a secret that is long enough", t.TempDir(), false
	})
	bearer := http.Header{"Authorization": {"Bearer 0123456789"}}
	s.publishing(t, "/live/a.flv").send(t, flvtest.Clip(t)[:20]...)
	relayEventually(t, "a publisher", func() bool { return len(s.host.Register.List()) == 1 })
	id := s.host.Register.List()[0].ID
	for request, names := range map[string]string{
		"DELETE /api/clients/" + id + "?bna=10m":                       `"bna"`,
		"DELETE /api/clients/" + id + "?ban=10m&yb=stream":             `"yb"`,
		"DELETE /api/clients/" + id + "?ban=10m;by=stream":             "query",
		"DELETE /api/clients/" + id + "?by=stream":                     "ban=TIME",
		"POST /api/bans?by=address&value=192.0.2.7&for=1h&Action=play": `"Action"`,
		"DELETE /api/bans/b1?node=b":                                   `"node"`,
		"POST /api/tokens?action=play&stream=live/a&expires=1h":        `"expires"`,
		"POST /api/pushes?node=b":                                      `"node"`,
		"DELETE /api/pushes/t1?nod=b":                                  `"nod"`,
		"POST /api/reload?dry-run=1":                                   `"dry-run"`,
		"POST /api/recordings?stream=live/a&for=1h":                    `"for"`,
		"DELETE /api/recordings?stream=live/a&file=x":                  `"file"`,
		"DELETE /api/recordings/live/a-20260102-030405.flv?stream=a":   `"stream"`,
	} {
		method, path, _ := strings.Cut(request, " ")
		if status, text := s.do(t, method, path, bearer); status != http.StatusBadRequest || !strings.Contains(strings.ReplaceAll(text, `\"`, `"`), names) {
			t.Errorf("%s: %d %s", request, status, text)
		}
		if status, _ := s.do(t, method, path, nil); status != http.StatusUnauthorized {
			t.Errorf("%s without the token: %d", request, status)
		}
	}
	if now := s.host.Register.List(); len(now) != 1 || now[0].ID != id {
		t.Errorf("the sessions are others: %v", now)
	}
	if status, text := s.do(t, "GET", "/api/bans", bearer); status != 200 || !strings.Contains(text, `"bans":[]`) {
		t.Errorf("%d %s", status, text)
	}
}
