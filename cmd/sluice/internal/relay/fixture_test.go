package relay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/logtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/sluicetest"
)

// relayWait bounds every wait of a test, for what hangs: a busy machine may stand still for
// seconds.
const relayWait = 2 * time.Minute

// calm are time limits that nothing reaches in a test. Tests of a limit make it shorter.
var calm = session.Times{
	Header: relayWait, Request: relayWait, Idle: relayWait, Answer: relayWait, Silence: relayWait, Rate: relayWait,
	Ask: relayWait / 4, Lag: relayWait, Stall: relayWait, Hook: relayWait, Events: relayWait, End: relayWait, Quiet: relayWait,
}

// relayConfig is what a test may change of a server.
type relayConfig struct {
	config.Config
	Version string
	times   session.Times
}

func (c relayConfig) server(log *slog.Logger) (*Server, error) {
	return New(c.Config, Options{Logger: log, Version: c.Version, times: c.times})
}

// relayLog collects what a server logs.
type relayLog struct {
	logtest.Log
	fault atomic.Pointer[string] // part of lines that make the one who logs them panic; nil: none do
}

func (l *relayLog) Write(p []byte) (int, error) {
	if part := l.fault.Load(); part != nil && strings.Contains(string(p), *part) {
		panic("a fault made by the test")
	}
	return l.Log.Write(p)
}

// line waits for a line that has all of these in it, and returns it.
func (l *relayLog) line(t *testing.T, parts ...string) string {
	t.Helper()
	var found string
	relayEventually(t, fmt.Sprintf("a line of the log with %q", parts), func() bool {
	lines:
		for line := range strings.Lines(l.String()) {
			for _, part := range parts {
				if !strings.Contains(line, part) {
					continue lines
				}
			}
			found = line
			return true
		}
		return false
	})
	return found
}

// A relayServer is a server that runs on ports of the system's choosing.
type relayServer struct {
	*Server
	log  *relayLog
	http string // address
	done chan error
	stop context.CancelFunc
}

// startRelay runs a server for the time of a test, which must not leave counted
// memory behind.
func startRelay(t *testing.T, change func(*relayConfig)) *relayServer {
	t.Helper()
	sluicetest.NoLeaks(t, nil)
	return startRelayOf(t, change)
}

// startRelayOf is startRelay of a server that may leave memory behind.
func startRelayOf(t *testing.T, change func(*relayConfig)) *relayServer {
	t.Helper()
	c := relayConfig{Config: config.Default(), times: calm}
	c.RTMP, c.HTTP, c.RTSP, c.WebRTC, c.SRT = "off", "127.0.0.1:0", "off", "off", "off"
	c.Merge, c.Grace = 0, 0
	c.LogLevel = "debug"
	if change != nil {
		change(&c)
	}
	s := &relayServer{log: &relayLog{}, done: make(chan error, 1)}
	var err error
	s.Server, err = c.server(slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	s.http = s.Addresses()["http"]
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	go func() { s.done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		s.Close()
		s.end(t)
		if t.Failed() {
			t.Logf("log:\n%s", s.log)
		}
	})
	return s
}

// end ends the server and waits for that.
func (s *relayServer) end(t *testing.T) {
	t.Helper()
	s.stop()
	select {
	case err := <-s.done:
		if err != nil && !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
		s.done <- err
	case <-time.After(relayWait):
		t.Fatal("Serve does not return")
	}
}

// lengthening runs a test with a time limit of the server, and again with a longer one when
// the test reports false: when the machine stood still for that time.
func lengthening(t *testing.T, limit time.Duration, test func(t *testing.T, limit time.Duration) bool) {
	t.Helper()
	for done := false; !done && !t.Failed(); limit *= 4 {
		t.Run(limit.String(), func(t *testing.T) { done = test(t, limit) })
	}
}

func relayEventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(relayWait)
	defer late.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("not within %v: %s", relayWait, what)
		}
	}
}

// relayPipe is a live publisher over HTTP: what is written to it is the body.
type relayPipe struct {
	*io.PipeWriter
	answer chan relayAnswer
}

type relayAnswer struct {
	status int
	text   string
	err    error
}

// publishing begins to publish a stream, with the header of a file.
func (s *relayServer) publishing(t *testing.T, path string) *relayPipe {
	t.Helper()
	r, w := io.Pipe()
	p := &relayPipe{w, make(chan relayAnswer, 1)}
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+s.http+path, r)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	go func() {
		a := relayAnswer{}
		resp, err := client.Do(req)
		if a.err = err; err == nil {
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			a.status, a.text = resp.StatusCode, string(text)
		}
		r.CloseWithError(errors.New("answered"))
		p.answer <- a
	}()
	p.Write(flvtest.Header)
	return p
}

func (p *relayPipe) send(t *testing.T, tags ...flvtest.Tag) {
	t.Helper()
	for _, g := range tags {
		if _, err := p.Write(g.Append(nil)); err != nil {
			t.Fatalf("%v; %+v", err, <-p.answer)
		}
	}
}

// answered waits for the answer.
func (p *relayPipe) answered(t *testing.T) relayAnswer {
	t.Helper()
	select {
	case a := <-p.answer:
		p.answer <- a
		return a
	case <-time.After(relayWait):
		t.Fatal("no answer to a publisher")
		panic("unreachable")
	}
}

// raw connects and sends a request as it is written, with CR LF for line ends.
func (s *relayServer) raw(t *testing.T, request string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", s.http)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(relayWait))
	if _, err := io.WriteString(conn, strings.ReplaceAll(request, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// playing begins to play a path, and returns the answer and its body.
func (s *relayServer) playing(t *testing.T, path string) (*http.Response, *flvtest.Reader) {
	t.Helper()
	_, r := s.raw(t, "GET "+path+" HTTP/1.1\nHost: localhost\nUser-Agent: test/1\n\n")
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp, flvtest.NewReader(resp.Body)
}

// get asks for a path and returns status and body.
func (s *relayServer) get(t *testing.T, path string) (int, string) {
	t.Helper()
	return s.do(t, "GET", path, nil)
}

func (s *relayServer) do(t *testing.T, method, path string, header http.Header) (int, string) {
	t.Helper()
	resp := s.request(t, method, path, header)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func (s *relayServer) request(t *testing.T, method, path string, header http.Header) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.http+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if host := header.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: relayWait}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// viewersOf waits until a stream has so many viewers.
func (s *relayServer) viewersOf(t *testing.T, stream string, n int) {
	t.Helper()
	relayEventually(t, fmt.Sprintf("%d viewers of %s", n, stream), func() bool {
		st, ok := s.host.Hub.Stream(stream)
		return ok && st.Stats().Viewers == n
	})
}
