package relay

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// A node that is full sends viewers to one that has room, once, with their tokens; when
// all are full they stay.
func TestClusterPlacesViewers(t *testing.T) {
	nodes := startNodes(t, 2, func(c *relayConfig) {
		c.CORS, c.WebRTC = []string{"off"}, "127.0.0.1:0"
		if c.NodeName == "a" {
			c.PlaceViewers = 1
		}
	})
	a, b := nodes[0], nodes[1]
	p := a.publishing(t, "/live/s.flv")
	p.send(t, clusterTags(0, 5)...)
	b.knows(t, "live/s", "a")
	first := a.watch(t, "/live/s.flv")
	first.until(t, "picture 4")
	relayEventually(t, "a knows that b has room", func() bool { return a.cluster.node.Place("live/s", false) != "" })
	client := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true}, Timeout: relayWait,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ask := func(path string, header http.Header) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, "http://"+a.http+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, values := range header {
			r.Header[name] = values
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	for path, want := range map[string]string{
		"/live/s.flv":                 "/live/s.flv?placed=1",
		"/live/s.flv?token=a%2Fb&gop": "/live/s.flv?token=a%2Fb&gop&placed=1",
		"/live/s.m3u8?token=x":        "/live/s.m3u8?token=x&placed=1",
	} {
		resp := ask(path, nil)
		if got := resp.Header.Get("Location"); resp.StatusCode != http.StatusTemporaryRedirect || got != "http://"+b.http+want {
			t.Errorf("%s: %s %q", path, resp.Status, got)
		}
	}
	for what, path := range map[string]string{"sent here": "/live/s.flv?placed=1", "no stream": "/live/none.flv", "what was recorded": "/live/s.flv?from=-1m", "a file of HLS": "/live/s/.hls/0/init.mp4"} {
		if resp := ask(path, nil); resp.StatusCode == http.StatusTemporaryRedirect {
			t.Errorf("%s: sent to %s", what, resp.Header.Get("Location"))
		}
	}
	upgrade := func() http.Header {
		return http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="}}
	}
	program, page := upgrade(), upgrade()
	page.Set("Origin", "http://"+a.http)
	if resp := ask("/live/s.flv", program); resp.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("a program over WebSocket: %s", resp.Status)
	}
	if resp := ask("/live/s.flv", page); resp.StatusCode == http.StatusTemporaryRedirect {
		t.Error("a page over WebSocket is sent on, which browsers do not follow")
	}
	for path, want := range map[string]string{
		"/live/s.flv?where":                        "http://" + b.http + "/live/s.flv?placed=1",
		"/live/s.flv?where=1&token=a%2Fb&gop=0":    "http://" + b.http + "/live/s.flv?token=a%2Fb&gop=0&placed=1",
		"/live/s.flv?token=x&placed=1&where=1":     "",
		"/live/none.flv?where=1":                   "",
		"/live/s.flv?where=1&from=-1m":             "",
		"/live/s.flv?where=1&wherever=x&merge=200": "http://" + b.http + "/live/s.flv?wherever=x&merge=200&placed=1",
		"/live/s/whep?where=1":                     "http://" + b.http + "/live/s/whep?placed=1",
		"/live/s/whep?where=1&placed=1":            "",
	} {
		if got := where(t, a, path); got != want {
			t.Errorf("asked where to connect for %s: %q, not %q", path, got, want)
		}
	}
	for _, c := range []struct {
		path   string
		header http.Header
		want   string
	}{
		{"/live/s/whep?gop=0", nil, "http://" + b.http + "/live/s/whep?gop=0&placed=1"},
		{"/live/s/whep?placed=1", nil, ""},
		{"/live/s/whep", http.Header{"Authorization": {"Bearer x"}}, ""}, // which clients send to one host
		{"/live/s/whip", nil, ""},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.http+c.path, strings.NewReader("v=0"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/sdp"}}
		maps.Copy(r.Header, c.header)
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Location"); got != c.want || (resp.StatusCode == http.StatusTemporaryRedirect) != (c.want != "") {
			t.Errorf("an offer to %s: %s, to %q", c.path, resp.Status, got)
		}
	}
	if got := where(t, b, "/live/s.flv?where=1"); got != "" {
		t.Errorf("a node that has room: %q", got)
	}
	to, err := url.Parse(ask("/live/s.flv", nil).Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	moved := b.watch(t, to.RequestURI()) // b pulls it, which a sends nowhere
	moved.until(t, "picture 4")
	p.send(t, clusterTags(5, 20)...)
	moved.until(t, "picture 19")
	first.until(t, "picture 19")
	resp := b.request(t, http.MethodHead, "/live/s.flv", http.Header{"Origin": {"http://" + a.http}})
	resp.Body.Close()
	if got := resp.Header.Get("Access-Control-Allow-Origin"); got != "http://"+a.http {
		t.Errorf("a page of a may not read from b: %q", got)
	}
	resp = a.request(t, http.MethodGet, "/", nil)
	resp.Body.Close()
	if got := resp.Header.Get("Content-Security-Policy"); !strings.Contains(got, "connect-src 'self' http://"+b.http+" ws://"+b.http) {
		t.Errorf("a's page may not read from b: %q", got)
	}
	b.Close()
	relayEventually(t, "a viewer stays when no other node has room", func() bool {
		return ask("/live/s.flv", nil).StatusCode == http.StatusOK
	})
	if n := a.host.Register.Number(session.RoleViewer); n < 1 {
		t.Error("the first viewer has gone")
	}
}

// where asks a relay where to connect.
func where(t *testing.T, s *relayServer, path string) string {
	t.Helper()
	resp := s.request(t, http.MethodGet, path, nil)
	defer resp.Body.Close()
	var answer struct{ URL *string }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.URL == nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", path, resp.Status, err)
	}
	return *answer.URL
}

func TestLoadOfANode(t *testing.T) {
	var l load
	c := &config.Config{}
	c.MaxViewers, c.PlaceBandwidth = 200, 1000
	now := time.Unix(1_700_000_000, 0)
	if part, room := l.measure(now, c, 0, 0); part != 0 || room != 200 {
		t.Errorf("idle: %v, %d", part, room)
	}
	now = now.Add(time.Second)
	if part, room := l.measure(now, c, 10, 500); part != 0.5 || room != 10 || l.full.Load() {
		t.Errorf("half of the bandwidth: %v, %d", part, room)
	}
	now = now.Add(time.Second)
	if part, room := l.measure(now, c, 10, 2000); part != 1.5 || room != 0 || !l.full.Load() {
		t.Errorf("too much bandwidth: %v, %d", part, room)
	}
	c.PlaceViewers = 5
	now = now.Add(time.Second)
	if part, room := l.measure(now, c, 10, 2000); part != 2 || room != 0 || l.full.Load() {
		t.Errorf("viewers alone: %v, %d", part, room)
	}
}

// A node that drains sends new viewers to another.
func TestClusterSendsViewersOnWhenItDrains(t *testing.T) {
	nodes := startNodes(t, 2, nil)
	a, b := nodes[0], nodes[1]
	p := b.publishing(t, "/live/s.flv")
	p.send(t, clusterTags(0, 5)...)
	a.knows(t, "live/s", "b")
	client := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true}, Timeout: relayWait,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ask := func() (status int, to string) {
		resp, err := client.Head("http://" + a.http + "/live/s.flv")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode, resp.Header.Get("Location")
	}
	if status, _ := ask(); status != http.StatusOK {
		t.Errorf("before: %d", status)
	}
	relayEventually(t, "a knows that b has room", func() bool { return a.cluster.node.Place("live/s", false) != "" })
	a.cluster.drain()
	if got := where(t, a, "/live/s.flv?where=1"); got != "http://"+b.http+"/live/s.flv?placed=1" {
		t.Errorf("asked where to connect: %q", got)
	}
	if status, to := ask(); status != http.StatusTemporaryRedirect || to != "http://"+b.http+"/live/s.flv?placed=1" {
		t.Errorf("%d, to %q", status, to)
	}
	a.host.Leave(session.NoSessions)
	if status, _ := ask(); status != http.StatusTemporaryRedirect {
		t.Errorf("when its own viewers have been ended: %d", status)
	}
}

// A node that ends waits for its viewers to come back, while they may.
func TestNodeWaitsForViewersToComeBack(t *testing.T) {
	for _, c := range []struct {
		viewers, back int
		ended, latest time.Duration
		want          bool
	}{
		{0, 0, 0, time.Hour, true},
		{3, 3, 300 * time.Millisecond, 0, true},
		{3, 0, time.Second, time.Hour, false}, // a busy machine: the first has yet to come
		{3, 0, 2 * time.Second, time.Hour, true},
		{3, 2, 2 * time.Second, 300 * time.Millisecond, false},
		{3, 2, 3 * time.Second, time.Second, true},
		{3, 2, 5 * time.Second, 0, true},
	} {
		if got := sentOn(c.viewers, c.back, c.ended, c.latest); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// A node that joins others knows, when it listens, what these have.
func TestClusterNodeBeginsKnowing(t *testing.T) {
	nodes := startNodes(t, 1, nil)
	p := nodes[0].publishing(t, "/live/s.flv")
	p.send(t, clusterTags(0, 5)...)
	b := startRelay(t, func(c *relayConfig) {
		c.times.Join = relayWait
		c.Cluster, c.NodeName, c.ClusterSecret, c.ClusterAddress = true, "b", clusterSecret(t), "127.0.0.1:0"
		c.Join = []string{"127.0.0.1:1", nodes[0].Addresses()["cluster-address"]} // nothing listens on port 1
	})
	endTogether(t, b, nodes[0])
	if status, _ := b.do(t, http.MethodHead, "/live/s.flv", nil); status != http.StatusOK {
		t.Errorf("%d", status)
	}
}
