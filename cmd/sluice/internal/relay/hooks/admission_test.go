package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/internal/loopback"
)

// hookServer is a hook that does what f says, and a gate that asks it.
func hookServer(t *testing.T, rules access.Options, o AdmissionOptions, f http.HandlerFunc) *access.Gate {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return asking(t, rules, o, s.URL+"/hook")
}

func asking(t *testing.T, rules access.Options, o AdmissionOptions, address string) *access.Gate {
	t.Helper()
	o.Timeout = cmp.Or(o.Timeout, time.Minute) // what a busy machine does not need
	h, err := NewAdmission(address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	rules.Ask = h
	g, err := access.New(rules)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestHookIsToldAllAndAdmits(t *testing.T) {
	got := make(chan request, 1)
	g := hookServer(t, access.Options{}, AdmissionOptions{}, func(w http.ResponseWriter, r *http.Request) {
		var q request
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &q); err != nil {
			t.Error(err)
		}
		for _, key := range []string{"action", "stream", "address", "protocol", "query", "agent"} {
			if !strings.Contains(string(body), `"`+key+`":`) {
				t.Errorf("no %s in %s", key, body)
			}
		}
		if r.Method != "POST" || r.Header.Get("Content-Type") != "application/json" || r.URL.Path != "/hook" {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		got <- q
		w.WriteHeader(http.StatusNoContent)
	})
	release, err := g.Admit(context.Background(), access.Request{
		Action: access.Publish, Stream: "live/s", Address: netip.MustParseAddrPort("[2001:db8::1]:99"), Protocol: "rtmp",
		Agent: "OBS \"30\"\xff", Query: url.Values{"key": {"a b"}, "wait": {"5"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	release()
	want := request{access.Publish, "live/s", "[2001:db8::1]:99", "rtmp", "key=a+b&wait=5", "OBS \"30\"�"}
	if q := <-got; q != want {
		t.Errorf("got %+v, want %+v", q, want)
	}
}

func TestHookAnswers(t *testing.T) {
	long := strings.Repeat("ä", 1000)
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   error
		reason string
	}{
		{"200", 200, "whatever", nil, ""},
		{"201", 201, "", nil, ""},
		{"403", 403, "not paid\nsecond line", access.ErrDenied, "not paid"},
		{"403 CRLF", 403, "not paid\r\nsecond", access.ErrDenied, "not paid"},
		{"401", 401, "who are you?", access.ErrDenied, "who are you?"},
		{"404 blank", 404, " \n\n", access.ErrDenied, "refused by the hook with 404"},
		{"403 leading line feeds", 403, "\n\nlate", access.ErrDenied, "late"},
		{"403 control characters", 403, "a\x00\x1b[31mb\xff\u202ec", access.ErrDenied, "a  [31mb  c"},
		{"403 long", 403, long, access.ErrDenied, long[:mostReason]},
		{"302", 302, "moved", access.ErrDenied, "refused by the hook with 302"},
		{"304", 304, "", access.ErrDenied, "refused by the hook with 304"},
		{"500", 500, "panic: secret", access.ErrHook, "the server cannot decide at the moment"},
		{"503", 503, "", access.ErrHook, "the server cannot decide at the moment"},
	} {
		g := hookServer(t, access.Options{MaxViewers: 1}, AdmissionOptions{}, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/hook" {
				t.Error("a redirect was followed")
			}
			if c.status == 302 {
				w.Header().Set("Location", "/elsewhere")
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		release, err := g.Admit(context.Background(), access.Request{Action: access.Play, Stream: "live/s"})
		if c.want == nil {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			if n := g.Usage().Viewers; n != 1 {
				t.Errorf("%s: %d viewers", c.name, n)
			}
			release()
			continue
		}
		status := map[error]int{access.ErrDenied: 403, access.ErrHook: 503}[c.want]
		if !errors.Is(err, c.want) || access.Status(err) != status || access.Reason(err) != c.reason {
			t.Errorf("%s: %v, status %d, reason %q, want %q", c.name, err, access.Status(err), access.Reason(err), c.reason)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v shows what the hook did not mean for others", c.name, err)
		}
		if got := g.Usage(); got != (access.Usage{}) {
			t.Errorf("%s: a refused viewer counts: %+v", c.name, got)
		}
	}
}

// An endless answer is cut off; how it begins decides.
func TestHookWithAnEndlessBody(t *testing.T) {
	g := hookServer(t, access.Options{}, AdmissionOptions{}, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(403)
		_, _ = io.WriteString(w, "no\n")
		for line := strings.Repeat("x", 1<<10); r.Context().Err() == nil; {
			if _, err := io.WriteString(w, line); err != nil {
				return
			}
		}
	})
	_, err := g.Admit(context.Background(), access.Request{Action: access.Play, Stream: "live/s"})
	if !errors.Is(err, access.ErrDenied) || access.Reason(err) != "no" {
		t.Errorf("got %v", err)
	}
}

func TestHookThatDoesNotAnswerRefusesInTime(t *testing.T) {
	release := make(chan struct{})
	g := hookServer(t, access.Options{MaxViewers: 1}, AdmissionOptions{Timeout: 50 * time.Millisecond}, func(http.ResponseWriter, *http.Request) { <-release })
	_, err := g.Admit(context.Background(), access.Request{Action: access.Play, Stream: "live/s"})
	if !errors.Is(err, access.ErrHook) || !errors.Is(err, context.DeadlineExceeded) || access.Status(err) != 503 {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := g.Admit(ctx, access.Request{Action: access.Play, Stream: "live/s"}); !errors.Is(err, access.ErrHook) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := g.Usage(); got != (access.Usage{}) {
		t.Errorf("counted: %+v", got)
	}
	close(release)
}

func TestHookThatIsNotThere(t *testing.T) {
	address := loopback.Free(t)
	g := asking(t, access.Options{}, AdmissionOptions{}, "http://user:hunter2@"+address+"/path")
	_, err := g.Admit(context.Background(), access.Request{Action: access.Publish, Stream: "live/s"})
	if !errors.Is(err, access.ErrHook) || access.Status(err) != 503 || strings.Contains(err.Error(), "hunter2") || strings.Contains(access.Reason(err), loopback.Host()) {
		t.Errorf("got %v, reason %q", err, access.Reason(err))
	}
}

func TestHooksAtOnceAreBounded(t *testing.T) {
	const most = 3
	var running, peak atomic.Int64
	arrived := make(chan struct{}, 64)
	proceed := make(chan struct{})
	g := hookServer(t, access.Options{}, AdmissionOptions{Concurrency: most, Timeout: time.Minute}, func(http.ResponseWriter, *http.Request) {
		n := running.Add(1)
		for {
			p := peak.Load()
			if n <= p || peak.CompareAndSwap(p, n) {
				break
			}
		}
		arrived <- struct{}{}
		<-proceed
		running.Add(-1)
	})
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			if _, err := g.Admit(context.Background(), access.Request{Action: access.Play, Stream: fmt.Sprint("live/", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	for range most {
		<-arrived
	}
	close(proceed)
	wg.Wait()
	if p := peak.Load(); p > most {
		t.Errorf("%d hooks at once, at most %d", p, most)
	}
	if n := g.Usage().Viewers; n != 12 {
		t.Errorf("%d viewers", n)
	}
}

// A request that waits too long for a free hook slot is refused by the same
// timeout.
// Many requests from one address do not keep those from another waiting.
func TestHooksOfOneAddressAreAShare(t *testing.T) {
	asked, answer := make(chan string, 100), make(chan struct{})
	g := hookServer(t, access.Options{}, AdmissionOptions{Concurrency: 8}, func(w http.ResponseWriter, r *http.Request) {
		var q request
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		asked <- q.Address
		<-answer
	})
	var asking sync.WaitGroup
	ask := func(from string) {
		asking.Go(func() {
			release, err := g.Admit(t.Context(), access.Request{Action: access.Play, Stream: "live/s", Address: netip.MustParseAddrPort(from)})
			if err != nil {
				t.Error(err)
				return
			}
			release()
		})
	}
	for i := range 20 { // of one /64
		ask(fmt.Sprintf("[2001:db8::%x]:1000", i+1))
	}
	for range 2 {
		<-asked
	}
	ask("192.0.2.1:1000")
	if from := <-asked; from != "192.0.2.1:1000" {
		t.Errorf("the third call is for %s", from)
	}
	close(answer)
	asking.Wait()
}

// Of an address for which no hook runs or waits nothing is kept.
func TestSharesOfAddressesThatLeave(t *testing.T) {
	s := shares{most: 1, of: map[netip.Prefix]*share{}}
	address := netip.MustParseAddr("192.0.2.1")
	leave, err := s.enter(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.enter(over, address); !errors.Is(err, context.Canceled) || len(s.of) != 1 {
		t.Errorf("a second one: %v; shares of %d addresses", err, len(s.of))
	}
	if leave(); len(s.of) != 0 {
		t.Errorf("%d addresses are kept", len(s.of))
	}
}

func TestHookTurnIsWaitedForWithinTheTimeout(t *testing.T) {
	entered, leave := make(chan struct{}, 1), make(chan struct{})
	g := hookServer(t, access.Options{}, AdmissionOptions{Concurrency: 1, Timeout: time.Minute}, func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-leave
	})
	done := make(chan error, 1)
	go func() {
		_, err := g.Admit(context.Background(), access.Request{Action: access.Play, Stream: "live/s"})
		done <- err
	}()
	<-entered
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := g.Admit(ctx, access.Request{Action: access.Play, Stream: "live/s"})
	if !errors.Is(err, access.ErrHook) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 hooks are running") {
		t.Errorf("got %v", err)
	}
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// The cheap rules come first: a request without a token does not reach the hook.
var (
	testSecret = []byte("0123456789abcdef")
	testNow    = time.Unix(1_700_000_000, 0)
)

func TestHookIsAskedLast(t *testing.T) {
	var asked atomic.Int64
	inside, _ := access.ParseAllow("10.0.0.0/8")
	g := hookServer(t, access.Options{Protect: []access.Action{access.Play}, Secret: testSecret, AllowPlay: inside, MaxViewers: 1, Now: func() time.Time { return testNow }},
		AdmissionOptions{}, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	r := access.Request{Action: access.Play, Stream: "live/s", Token: access.Sign(testSecret, access.Play, "live/s", testNow.Add(time.Hour))}
	step := func(want error, calls int64) {
		t.Helper()
		if _, err := g.Admit(context.Background(), r); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
		if n := asked.Load(); n != calls {
			t.Errorf("the hook was asked %d times, want %d", n, calls)
		}
	}
	step(access.ErrAddress, 0)
	r.Address = netip.MustParseAddrPort("10.0.0.1:5")
	right := r.Token
	r.Token = right + "x"
	step(access.ErrTokenWrong, 0)
	r.Token = ""
	step(access.ErrTokenMissing, 0)
	r.Query = url.Values{"token": {right}}
	step(nil, 1)
	step(access.ErrLimit, 1)
}

func TestRequestsTooLongForAHookAreRefused(t *testing.T) {
	g := hookServer(t, access.Options{}, AdmissionOptions{}, func(http.ResponseWriter, *http.Request) { t.Error("asked") })
	_, err := g.Admit(context.Background(), access.Request{Action: access.Play, Stream: "live/s", Agent: strings.Repeat("a", mostRequest)})
	if !errors.Is(err, access.ErrDenied) || access.Status(err) != 403 {
		t.Errorf("got %v", err)
	}
}

func TestWrongHookAddresses(t *testing.T) {
	for _, address := range []string{"localhost:9000", "ftp://host/x", "http://", "http:///path", "/path", "http://[::1", "http://a b/"} {
		if _, err := NewAdmission(address, AdmissionOptions{}); err == nil {
			t.Errorf("%q was taken", address)
		}
	}
	if _, err := NewAdmission("ftp://u:hunter2@host/", AdmissionOptions{}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}
