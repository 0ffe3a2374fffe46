package relay

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hooks"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/web"
)

// The API has the latest events also when no other server gets them, each once to
// one that asks for those after the last it has, and to the holders of its token alone.
func TestEventsOverTheAPI(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.APIToken = "0123456789" })
	bearer := http.Header{"Authorization": {"Bearer 0123456789"}}
	if status, _ := s.do(t, "GET", "/api/events", nil); status != 401 {
		t.Errorf("without the token: %d", status)
	}
	if status, text := s.do(t, "GET", "/api/events?after=x", bearer); status != 400 || !strings.Contains(text, "after") {
		t.Errorf("after x: %d %s", status, text)
	}
	after := "0"
	var have []hooks.Event
	until := func(want string) {
		t.Helper()
		relayEventually(t, "events "+want, func() bool {
			var answer struct {
				Events []hooks.Event
				Last   json.Number
			}
			status, text := s.do(t, "GET", "/api/events?after="+after, bearer)
			if err := json.Unmarshal([]byte(text), &answer); err != nil || status != 200 {
				t.Fatalf("%d, %v: %s", status, err, text)
			}
			have, after = append(have, answer.Events...), answer.Last.String()
			var got []string
			for _, v := range have {
				got = append(got, strings.Join([]string{v.Event, v.Stream, v.Session, v.Code}, " "))
			}
			return strings.Join(got, ", ") == want
		})
	}
	p := s.publishing(t, "/live/a.flv?token=hunter2")
	p.send(t, flvtest.Clip(t)[:40]...)
	until("publish_begin live/a p1 ")
	p.Close()
	p.answered(t)
	until("publish_begin live/a p1 , publish_end live/a p1 done")
	if text, _ := json.Marshal(have); strings.Contains(string(text), "hunter2") {
		t.Errorf("a token in %s", text)
	}
}

// Tokens are made for the holders of the API's token, work where they are for, and
// nowhere else.
func TestTokensOverTheAPI(t *testing.T) {
	const secret = "a secret that is long enough"
	s := startRelay(t, func(c *relayConfig) {
		c.APIToken, c.TokenSecret, c.Protect = "0123456789", secret, []string{"publish", "play"}
	})
	bearer := http.Header{"Authorization": {"Bearer 0123456789"}}
	const good = "/api/tokens?action=publish&stream=live/a&for=1h&id=cam7"
	for request, want := range map[string]int{
		"GET " + good: 405, "POST /api/tokens": 400, "POST /api/tokens?action=all&stream=live/a": 400, "POST /api/tokens?action=play&stream=a": 400,
		"POST /api/tokens?action=play&stream=live/../a": 400, "POST " + good + "&for=1h&id=a.b": 200, // the first value counts
		"POST /api/tokens?action=play&stream=live/a&id=a.b": 400, "POST /api/tokens?action=play&stream=live/a&for=1000000h": 400,
		"POST /api/tokens?action=play&stream=live/a&for=0s": 400, "POST /api/tokens?action=play&stream=live/a&for=soon": 400, "POST /api/tokens?action=play&stream=live/a&for=99999999h": 400,
	} {
		method, path, _ := strings.Cut(request, " ")
		if status, text := s.do(t, method, path, bearer); status != want {
			t.Errorf("%s: %d %s, want %d", request, status, text, want)
		}
	}
	if status, _ := s.do(t, "POST", good, nil); status != 401 {
		t.Errorf("without the API's token: %d", status)
	}
	status, text := s.do(t, "POST", good, bearer)
	var made web.TokenInfo
	if err := json.Unmarshal([]byte(text), &made); err != nil || status != 200 {
		t.Fatalf("%d, %v: %s", status, err, text)
	}
	if made.ID != "cam7" || made.Stream != "live/a" || made.Action != access.Publish || time.Until(made.Expires) > time.Hour {
		t.Errorf("%+v", made)
	}
	if err := access.Verify([]byte(secret), access.Publish, "live/a", made.Token, time.Now()); err != nil {
		t.Error(err)
	}
	p := s.publishing(t, "/live/a.flv?token="+made.Token)
	p.send(t, flvtest.Clip(t)[:40]...)
	relayEventually(t, "it publishes", func() bool { return len(s.host.Register.List()) == 1 })
	if status, _ := s.get(t, "/live/a.flv?token="+made.Token); status != 403 && status != 401 {
		t.Errorf("it plays: %d", status)
	}
	p.Close()
	p.answered(t)
	without := startRelay(t, func(c *relayConfig) { c.APIToken = "0123456789" })
	if status, text := without.do(t, "POST", good, bearer); status != 409 || !strings.Contains(text, access.SecretEnv) {
		t.Errorf("without a secret: %d %s", status, text)
	}
}
