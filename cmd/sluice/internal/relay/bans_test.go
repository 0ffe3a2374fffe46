package relay

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
)

// A session that was ended with a ban stays refused, by address, stream or token,
// until the ban is lifted or expires; the bans are listed.
func TestKickWithABan(t *testing.T) {
	const secret = "a secret that is long enough"
	token := func(id, stream string) string {
		return "token=" + access.SignID([]byte(secret), access.Publish, stream, id, time.Now().Add(time.Hour))
	}
	s := rtmpServe(t, func(c *relayConfig) {
		c.HTTP, c.APIToken = "127.0.0.1:0", "0123456789"
		c.Protect, c.TokenSecret, c.Revoked = []string{"publish"}, secret, []string{"gone"}
	})
	api := &relayServer{Server: s, http: s.Addresses()["http"]}
	bearer := http.Header{"Authorization": {"Bearer 0123456789"}}
	publish := func(ip, query, stream string) (*rtmpClient, string) {
		x := rtmpFrom(t, s, ip)
		err := x.c.Publish(stream + "?" + query)
		if err == nil {
			return x, ""
		}
		return x, err.Error()
	}
	list := func() []access.Ban {
		t.Helper()
		var answer struct{ Bans []access.Ban }
		status, text := api.do(t, "GET", "/api/bans", bearer)
		if err := json.Unmarshal([]byte(text), &answer); err != nil || status != 200 {
			t.Fatalf("%d, %v: %s", status, err, text)
		}
		return answer.Bans
	}
	only := func() string {
		t.Helper()
		for _, c := range s.host.Register.List() {
			if c.Role == session.RolePublisher {
				return c.ID
			}
		}
		t.Fatal("there is no publisher")
		return ""
	}
	for _, c := range []struct {
		by             string
		out, in        []string // address, id of a token and stream of those that are banned, and are not
		value          string
		needsTokenByID bool
	}{
		{"", []string{"127.0.0.2 cam s", "127.0.0.2 other s"}, []string{"127.0.0.3 cam s"}, "127.0.0.2/32", false},
		{"address", []string{"127.0.0.2 cam t"}, []string{"127.0.0.3 cam s"}, "127.0.0.2/32", false},
		{"stream", []string{"127.0.0.2 cam s", "127.0.0.3 other s"}, []string{"127.0.0.2 cam t"}, "live/s", false},
		{"token", []string{"127.0.0.2 cam s", "127.0.0.3 cam t"}, []string{"127.0.0.2 other s"}, "cam", true},
	} {
		try := func(who string) (*rtmpClient, string) {
			f := strings.Fields(who)
			return publish(f[0], token(f[1], "live/"+f[2]), f[2])
		}
		x, says := try("127.0.0.2 cam s")
		if says != "" {
			t.Fatalf("by %q: before: %s", c.by, says)
		}
		path := "/api/clients/" + only()
		for query, status := range map[string]int{"?ban=ever": 400, "?ban=10m&by=colour": 400, "?ban=1000h": 400, "?ban=-1s": 400} {
			if got, text := api.do(t, "DELETE", path+query, bearer); got != status {
				t.Errorf("DELETE %s: %d %s", query, got, text)
			}
		}
		status, text := api.do(t, "DELETE", path+"?ban=10m&by="+c.by, bearer)
		if status != 200 {
			t.Fatalf("by %q: %d %s", c.by, status, text)
		}
		rtmpUntil(t, "it is ended", func() bool { return len(s.host.Register.List()) == 0 })
		x.close()
		for _, who := range c.out {
			if _, says := try(who); !strings.Contains(says, "banned until") {
				t.Errorf("by %q: %s: %q", c.by, who, says)
			}
		}
		for _, who := range c.in {
			x, says := try(who)
			if says != "" {
				t.Errorf("by %q: %s: %s", c.by, who, says)
			}
			x.close()
		}
		bans := list()
		if len(bans) != 1 || bans[0].Value != c.value || time.Until(bans[0].Until) > 10*time.Minute || time.Until(bans[0].Until) < 9*time.Minute {
			t.Fatalf("by %q: %+v", c.by, bans)
		}
		if status, _ := api.do(t, "DELETE", "/api/bans/"+bans[0].ID, bearer); status != 204 {
			t.Errorf("lifted: %d", status)
		}
		if status, _ := api.do(t, "DELETE", "/api/bans/"+bans[0].ID, bearer); status != 404 {
			t.Errorf("lifted again: %d", status)
		}
		rtmpUntil(t, "all are gone", func() bool { return len(s.host.Register.List()) == 0 })
		back, says := try("127.0.0.2 cam s")
		if says != "" {
			t.Errorf("by %q: after: %s", c.by, says)
		}
		back.close()
		rtmpUntil(t, "it is gone", func() bool { return len(s.host.Register.List()) == 0 })
	}
	// A ban that no session gives the reason for ends those that it is about.
	x, says := publish("127.0.0.2", token("cam", "live/s"), "s")
	if says != "" {
		t.Fatal(says)
	}
	defer x.close()
	q := url.Values{"by": {"address"}, "value": {"127.0.0.0/30"}, "for": {"1m"}}
	if status, text := api.do(t, "POST", "/api/bans?"+q.Encode(), bearer); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	rtmpUntil(t, "it is ended", func() bool { return len(s.host.Register.List()) == 0 })
	for _, long := range []string{"9999h", "99999999h"} { // above the limit, and above what a Duration has
		q.Set("for", long)
		if status, text := api.do(t, "POST", "/api/bans?"+q.Encode(), bearer); status != 400 || strings.Contains(text, "unit") && !strings.Contains(text, "too long") {
			t.Errorf("for %s: %d %s", long, status, text)
		}
	}
	for _, name := range []string{"live", "live/", "live/a b", "../x"} {
		wrong := url.Values{"by": {"stream"}, "value": {name}, "action": {"play"}, "for": {"1h"}}
		if status, text := api.do(t, "POST", "/api/bans?"+wrong.Encode(), bearer); status != 400 {
			t.Errorf("a ban of the stream %q: %d %s", name, status, text)
		}
	}
	if status, _ := api.do(t, "POST", "/api/bans?"+q.Encode(), nil); status != 401 {
		t.Errorf("without the API token: %d", status)
	}
	if status, _ := api.do(t, "GET", "/api/bans", nil); status != 401 {
		t.Errorf("the list without the API token: %d", status)
	}
	// A token that is revoked.
	if _, says := publish("127.0.0.9", token("gone", "live/s"), "s"); !strings.Contains(says, "revoked") {
		t.Errorf("a token that was revoked: %q", says)
	}
}

// One address may publish so many streams and no more; a stream that it publishes
// already is no new one.
func TestStreamsOfOneAddressAreLimited(t *testing.T) {
	s := rtmpServe(t, func(c *relayConfig) { c.MaxStreamsPerAddress = 2 })
	for _, name := range []string{"a", "b"} {
		if err := rtmpFrom(t, s, "127.0.0.2").c.Publish(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := rtmpFrom(t, s, "127.0.0.2").c.Publish("c"); err == nil || !strings.Contains(err.Error(), "one address (limit 2)") {
		t.Errorf("the third: %v", err)
	}
	if err := rtmpFrom(t, s, "127.0.0.2").c.Publish("b"); err != nil {
		t.Errorf("the second again: %v", err)
	}
	if err := rtmpFrom(t, s, "127.0.0.3").c.Publish("c"); err != nil {
		t.Errorf("another address: %v", err)
	}
}

// Bans in the file hold after a restart.
func TestBansOutliveTheServer(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bans.json")
	bearer := http.Header{"Authorization": {"Bearer 0123456789"}}
	change := func(c *relayConfig) { c.APIToken, c.BansFile = "0123456789", name }
	s := startRelay(t, change)
	if status, text := s.do(t, "POST", "/api/bans?by=address&value=127.0.0.1&for=1h", bearer); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	s.Close()
	s.end(t)
	s = startRelay(t, change)
	if status, text := s.get(t, "/live/s.flv"); status != 403 || !strings.Contains(text, "banned until") {
		t.Errorf("after a restart: %d %s", status, text)
	}
	if status, _ := s.do(t, "DELETE", "/api/bans/b1", bearer); status != 204 {
		t.Errorf("lifted: %d", status)
	}
	if status, _ := s.get(t, "/live/s.flv"); status != 404 {
		t.Errorf("after it was lifted: %d", status)
	}
	if err := os.WriteFile(name, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := relayConfig{Config: config.Default()}
	change(&c)
	if s, err := c.server(nil); !errors.Is(err, access.ErrBansFile) || !strings.Contains(err.Error(), name) {
		t.Errorf("%v, %v with a damaged file", s, err)
	}
}

// Bans that could not be saved when they were made, as on a full disk, are saved at the end.
func TestBansAreSavedAtTheEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	change := func(c *relayConfig) { c.APIToken, c.BansFile = "0123456789", filepath.Join(dir, "bans.json") }
	s := startRelay(t, change)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	status, text := s.do(t, "POST", "/api/bans?by=address&value=127.0.0.1&for=1h", http.Header{"Authorization": {"Bearer 0123456789"}})
	if status != 500 || !strings.Contains(text, "could not be saved") {
		t.Fatalf("%d %s", status, text)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.end(t)
	s = startRelay(t, change)
	if status, text := s.get(t, "/live/s.flv"); status != 403 || !strings.Contains(text, "banned until") {
		t.Errorf("after a restart: %d %s", status, text)
	}
}

// A viewer may write any token's id into its address where playing needs none:
// it is not taken for the token's holder, or a ban would hit the wrong one.
func TestTokenThatWasNotVerifiedIsNone(t *testing.T) {
	const secret = "a secret that is long enough"
	s := rtmpServe(t, func(c *relayConfig) { c.Protect, c.TokenSecret, c.APIToken = []string{"publish"}, secret, "0123456789" })
	token := access.SignID([]byte(secret), access.Publish, "live/s", "cam", time.Now().Add(time.Hour))
	p := rtmpFrom(t, s, "127.0.0.2")
	if err := p.c.Publish("s?token=" + token); err != nil {
		t.Fatal(err)
	}
	v := rtmpFrom(t, s, "127.0.0.3")
	if err := v.c.Play("s?token=cam.1.x"); err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "both are there", func() bool { return len(s.host.Register.List()) == 2 })
	for _, c := range s.host.Register.List() {
		if want := map[session.Role]string{session.RolePublisher: "cam"}[c.Role]; c.Token != want {
			t.Errorf("the %s has the token %q", c.Role, c.Token)
		}
	}
}

// A publisher that sends less than any stream has is ended, by either protocol.
func TestPublisherBelowTheLeastRateIsEnded(t *testing.T) {
	window := 300 * time.Millisecond
	change := func(c *relayConfig) {
		c.times.Rate, c.times.Silence, c.times.Step = window, relayWait, 20*time.Millisecond
		c.MinPublishRate = 4000
	}
	// Some 1,700 bytes a second, in frames, until write fails.
	dribble := func(write func() error) {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for range 3000 {
			if write() != nil {
				return
			}
			<-tick.C
		}
	}
	t.Run("HTTP", func(t *testing.T) {
		s := startRelay(t, change)
		p := s.publishing(t, "/live/s.flv")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			dribble(func() error {
				_, err := p.Write([]byte("\x08\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x2f\xff\x00\x00\x00\x0d"))
				return err
			})
		}()
		if a := p.answered(t); a.status != 408 || !strings.Contains(a.text, "minimum rate") {
			t.Errorf("%+v", a)
		}
		p.Close()
		<-ended
	})
	t.Run("RTMP", func(t *testing.T) {
		// A machine that stands still for the window is a publisher that is silent.
		for ; ; window *= 4 {
			s := rtmpServe(t, change)
			x := rtmpFrom(t, s, "127.0.0.2")
			if err := x.c.Publish("s"); err != nil {
				t.Fatal(err)
			}
			dribble(func() error {
				if len(s.host.Register.List()) == 0 {
					return io.EOF
				}
				return x.send([]rtmpFrame{{Type: flv.TagAudio, Body: "\x2f\xff"}})
			})
			rtmpUntil(t, "it has ended", func() bool { return len(s.host.Register.List()) == 0 })
			ended := func(reason error) int64 {
				return s.host.Register.Totals().Ended[session.Outcome{Role: session.RolePublisher, Code: session.Code(reason)}]
			}
			if ended(session.ErrTooSlow) == 1 {
				return
			}
			if ended(session.ErrIdle) != 1 || window > relayWait/4 {
				t.Fatalf("endings: %v", s.host.Register.Totals().Ended)
			}
		}
	})
}

// A ban that comes while a client waits to be admitted, a viewer for its stream or a
// publisher for the hook, ends it too: it is in no register yet when the ban looks there.
func TestBanOfThoseWhoWait(t *testing.T) {
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if text, _ := io.ReadAll(r.Body); strings.Contains(string(text), "hooked/s") {
			asked <- struct{}{}
			<-answer
		}
	}))
	defer hook.Close()
	s := startRelay(t, func(c *relayConfig) {
		c.APIToken, c.Hook = "0123456789", hook.URL
	})
	ban := func(action, stream string) {
		t.Helper()
		path := "/api/bans?by=stream&for=10m&action=" + action + "&value=" + stream
		if status, text := s.do(t, "POST", path, http.Header{"Authorization": {"Bearer 0123456789"}}); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
	}
	_, answers := s.raw(t, "GET /live/s.flv?wait=60 HTTP/1.1\nHost: localhost\n\n")
	relayEventually(t, "the viewer waits", func() bool { return s.host.Gate.Usage().Viewers == 1 })
	ban("play", "live/s")
	p := s.publishing(t, "/live/s.flv")
	p.send(t, flvtest.Clip(t)[:20]...)
	relayEventually(t, "the viewer is ended", func() bool { return s.host.Gate.Usage().Viewers == 0 })
	if _, err := io.Copy(io.Discard, answers); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the viewer: %v", err)
	}
	p.Close()
	p.answered(t)

	banned := s.publishing(t, "/hooked/s.flv")
	<-asked
	ban("publish", "hooked/s")
	close(answer)
	if a := banned.answered(t); a.status != http.StatusForbidden || !strings.Contains(a.text, "banned until") {
		t.Errorf("the publisher: %+v", a)
	}
	if _, ok := s.host.Hub.Stream("hooked/s"); ok {
		t.Error("a banned publisher made a stream")
	}
}
