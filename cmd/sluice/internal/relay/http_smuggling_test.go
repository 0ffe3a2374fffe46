package relay

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A request whose end a proxy in front may see elsewhere is the last on its
// connection: what follows could be another client's, or made up by this one (RFC
// 9112, section 11.2).
func TestNothingIsServedBehindAnAmbiguousBody(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.TrustedProxies = []string{"127.0.0.0/8"} })
	const smuggled = "GET /api/streams HTTP/1.1\nHost: a\n\n"
	for _, target := range []string{"GET /healthz", "GET /", "POST /api/bans", "DELETE /api/clients/p1", "GET /api/streams", "GET /live/s.flv", "HEAD /live/s.flv",
		"OPTIONS /live/s.flv", "POST /live/s.flv", "PUT /live/s.flv", "PATCH /live/s.flv", "GET /metrics", "POST /healthz"} {
		for what, body := range map[string]string{
			"both lengths":       "Content-Length: %d\nTransfer-Encoding: chunked\n\n0\n\n",
			"both, other order":  "Transfer-Encoding: chunked\nContent-Length: %d\n\n0\n\n",
			"chunked":            "Transfer-Encoding: chunked\n\n0\n\n",
			"two codings":        "Transfer-Encoding: chunked, identity\nContent-Length: %d\n\n0\n\n",
			"a space in a name":  "Transfer-Encoding : chunked\nContent-Length: %d\n\n0\n\n",
			"two lengths":        "Content-Length: 0\nContent-Length: %d\n\n",
			"a list of lengths":  "Content-Length: 0, %d\n\n",
			"a plus in a length": "Content-Length: +%d\n\n",
			"a folded line":      "X: a\n Transfer-Encoding: chunked\nContent-Length: x%d\n\n0\n\n",
		} {
			if strings.Contains(body, "%d") {
				body = fmt.Sprintf(body, len(smuggled)+5)
			}
			conn, r := s.raw(t, target+" HTTP/1.1\nHost: a\n"+body+smuggled)
			resp, err := http.ReadResponse(r, &http.Request{Method: strings.Fields(target)[0]})
			if err != nil {
				t.Errorf("%s, %s: %v", target, what, err)
				continue
			}
			io.Copy(io.Discard, resp.Body)
			if rest, _ := io.ReadAll(r); strings.Contains(string(rest), "HTTP/1.") {
				t.Errorf("%s, %s: behind %s came %.60q", target, what, resp.Status, rest)
			}
			conn.Close()
		}
	}
}
