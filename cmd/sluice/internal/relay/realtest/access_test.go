//go:build linux

package realtest

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

const secretEnv = "SLUICE_TOKEN_SECRET=the secret of the tests, which is long enough"

// token asks the program for a token.
func token(t testing.TB, action, stream string) string {
	t.Helper()
	p := start(t, []string{secretEnv}, sluice(t), "token", "--json", "--"+action, stream, "--expires", "1h")
	if code := p.wait(t, lengthened(10*time.Second)); code != 0 {
		t.Fatalf("sluice token: %d: %s", code, p.stderr.tail(5))
	}
	var answer struct{ Token string }
	if err := json.Unmarshal([]byte(p.stdout.String()), &answer); err != nil || answer.Token == "" {
		t.Fatalf("sluice token: %v: %s", err, p.stdout.String())
	}
	return answer.Token
}

// With the tokens that sluice token prints ffmpeg publishes and plays; without
// one, or with one for something else, it does neither.
func TestTokens(t *testing.T) {
	t.Parallel()
	s := serve(t, options{flags: []string{"--protect", "publish,play", "--grace", "0"}, env: []string{secretEnv}})
	publish, play := token(t, "publish", "live/s"), token(t, "play", "live/s")
	want := clipCRC(t)

	for _, bad := range []string{"", "?token=" + play, "?token=" + publish + "x", "?token=" + token(t, "publish", "live/other")} {
		for _, url := range []string{"rtmp://" + s.RTMP + "/live/s" + bad, "http://" + s.HTTP + "/live/s.flv" + bad} {
			// Over HTTP ffmpeg does not look at the answer.
			if code := push(t, clipFile(t), url).wait(t, lengthened(15*time.Second)); code == 0 && strings.HasPrefix(url, "rtmp") {
				t.Errorf("ffmpeg thinks that it has published to %s", url)
			}
		}
	}
	if started := s.stderr.matches("publisher started"); len(started) > 0 {
		t.Errorf("without the right token: %q", started)
	}
	for _, bad := range []string{"", "token=" + publish, "token=1." + play} {
		var code *status
		if _, err := playHTTP(dial(t, s.HTTP, false), "/live/s.flv?wait=1&"+bad); !errors.As(err, &code) || code.code != http.StatusUnauthorized {
			t.Errorf("playing over HTTP with %q: %v", bad, err)
		}
		var no *refused
		if _, err := playRTMP(dial(t, s.RTMP, false), "live", "s?wait=1&"+bad); !errors.As(err, &no) {
			t.Errorf("playing over RTMP with %q: %v", bad, err)
		}
	}
	for _, url := range []string{"rtmp://" + s.RTMP + "/live/s?token=" + publish, "http://" + s.HTTP + "/live/s.flv?token=" + publish} {
		pulls := []*process{
			pull(t, "rtmp://"+s.RTMP+"/live/s?wait=30&token="+play),
			pull(t, "http://"+s.HTTP+"/live/s.flv?wait=30&token="+play),
		}
		if p := push(t, clipFile(t), url); p.wait(t, lengthened(20*time.Second)) != 0 {
			t.Fatalf("publishing to %s: %s", url, p.stderr.tail(10))
		}
		for _, pulled := range pulls {
			if code := pulled.wait(t, lengthened(20*time.Second)); code != 0 {
				t.Errorf("playing: %d: %s", code, pulled.stderr.tail(10))
			} else if diff := parseCRC(t, pulled.stdout.String()).fromZero().differ(want); diff != "" {
				t.Error(diff)
			}
		}
	}
	if strings.Contains(s.stderr.String(), publish) || strings.Contains(s.stderr.String(), play) {
		t.Error("a token is in the log")
	}
}

// Addresses that are not in the list may not.
func TestAllowLists(t *testing.T) {
	t.Parallel()
	s := serve(t, flags("--allow-publish 127.0.0.0/8 --allow-play 192.0.2.0/24,2001:db8::/32"))
	p := publishHTTP(t, "POST", "http://"+s.HTTP+"/live/s.flv")
	feedTo(t, p, pace{})
	s.awaitLive(t, "live/s")
	var code *status
	if _, err := playHTTP(dial(t, s.HTTP, false), "/live/s.flv"); !errors.As(err, &code) || code.code != http.StatusForbidden {
		t.Errorf("HTTP: %v", err)
	}
	if _, err := playWebSocket(dial(t, s.HTTP, false), "/live/s.flv"); !errors.As(err, &code) || code.code != http.StatusForbidden {
		t.Errorf("WebSocket: %v", err)
	}
	var no *refused
	if _, err := playRTMP(dial(t, s.RTMP, false), "live", "s"); !errors.As(err, &no) {
		t.Errorf("RTMP: %v", err)
	}

	s = serve(t, flags("--allow-publish 192.0.2.7"))
	p = publishHTTP(t, "POST", "http://"+s.HTTP+"/live/s.flv")
	if err := receive(t, lengthened(5*time.Second), "answer", p.result); !errors.As(err, &code) || code.code != http.StatusForbidden {
		t.Errorf("publishing over HTTP: %v", err)
	}
	if _, err := publishRTMP(dial(t, s.RTMP, false), "live", "s"); !errors.As(err, &no) {
		t.Errorf("publishing over RTMP: %v", err)
	}
}

// The hook hears who wants what, and decides.
func TestHook(t *testing.T) {
	t.Parallel()
	type question struct{ Action, Stream, Protocol, Query string }
	var mu sync.Mutex
	var asked []question
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q question
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Errorf("the hook was sent no JSON: %v", err)
		}
		mu.Lock()
		asked = append(asked, q)
		mu.Unlock()
		if strings.Contains(q.Query, "who=stranger") {
			http.Error(w, "not you", http.StatusForbidden)
		}
	}))
	defer hook.Close()
	s := serve(t, flags("--hook "+hook.URL+"/hook"))

	var no *refused
	if _, err := publishRTMP(dial(t, s.RTMP, false), "live", "s?who=stranger"); !errors.As(err, &no) {
		t.Errorf("publishing over RTMP as a stranger: %v", err)
	}
	pub, err := publishRTMP(dial(t, s.RTMP, false), "live", "s?who=friend")
	if err != nil {
		t.Fatal(err)
	}
	f := feedTo(t, pub, pace{})
	s.awaitLive(t, "live/s")
	var code *status
	if _, err := playHTTP(dial(t, s.HTTP, false), "/live/s.flv?who=stranger"); !errors.As(err, &code) || code.code != http.StatusForbidden || !strings.Contains(code.body, "not you") {
		t.Errorf("playing over HTTP as a stranger: %v", err)
	}
	v := s.view(t, "flv", "s", "who=friend")
	v.awaitMedia(t, 30)
	checkViewers(t, f, []*viewer{v})

	mu.Lock()
	defer mu.Unlock()
	want := []question{
		{"publish", "live/s", "rtmp", "who=stranger"},
		{"publish", "live/s", "rtmp", "who=friend"},
		{"play", "live/s", "flv", "who=stranger"},
		{"play", "live/s", "flv", "who=friend"},
	}
	if len(asked) != len(want) {
		t.Fatalf("the hook was asked %+v", asked)
	}
	for i := range want {
		if asked[i] != want[i] {
			t.Errorf("question %d is %+v, want %+v", i, asked[i], want[i])
		}
	}
}

// A session above a limit is refused with that reason, and a session that ends
// makes room.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := serve(t, flags("--max-streams 1 --max-viewers 2 --grace 0"))
	p := publishHTTP(t, "POST", "http://"+s.HTTP+"/live/s.flv")
	feedTo(t, p, pace{})
	s.awaitLive(t, "live/s")

	var code *status
	second := publishHTTP(t, "POST", "http://"+s.HTTP+"/live/other.flv")
	if err := receive(t, lengthened(5*time.Second), "answer", second.result); !errors.As(err, &code) || code.code != http.StatusServiceUnavailable {
		t.Errorf("a second stream over HTTP: %v", err)
	}
	var no *refused
	if _, err := publishRTMP(dial(t, s.RTMP, false), "live", "other"); !errors.As(err, &no) {
		t.Errorf("a second stream over RTMP: %v", err)
	}
	one := s.view(t, "rtmp", "s", "")
	one.awaitMedia(t, 1)
	s.view(t, "flv", "s", "").awaitMedia(t, 1)
	if _, err := playHTTP(dial(t, s.HTTP, false), "/live/s.flv"); !errors.As(err, &code) || code.code != http.StatusServiceUnavailable {
		t.Errorf("a third viewer over HTTP: %v", err)
	}
	if _, err := playRTMP(dial(t, s.RTMP, false), "live", "s"); !errors.As(err, &no) {
		t.Errorf("a third viewer over RTMP: %v", err)
	}
	one.conn.Close()
	eventually(t, lengthened(10*time.Second), func() string {
		conn := dial(t, s.HTTP, false)
		if _, err := playHTTP(conn, "/live/s.flv"); err != nil {
			conn.Close()
			return err.Error()
		}
		return ""
	})
}
