//go:build linux

package realtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/internal/testcert"
)

// A server is a running sluice serve.
type server struct {
	*process
	RTMP    string `json:"rtmp"` // addresses, as the line of --json has them
	RTMPS   string `json:"rtmps"`
	HTTP    string `json:"http"`
	HTTPS   string `json:"https"`
	PProf   string `json:"pprof"`
	RTSP    string `json:"rtsp"`
	SRT     string `json:"srt"`
	Cluster string `json:"cluster"` // where other nodes join
	PID     int    `json:"pid"`
}

// options of a server beyond ports of the system's choosing.
type options struct {
	flags []string
	env   []string
	tls   bool     // RTMPS and HTTPS too
	under []string // a program with arguments that runs this one in its place
}

// flags splits a line of flags at spaces.
func flags(line string) options { return options{flags: strings.Fields(line)} }

// replaceable are options of a server whose addresses a later one will have. While
// neither listens, no other program gets them.
func replaceable() options {
	return flags(strings.ReplaceAll("--rtmp HOST:0 --http HOST:0", "HOST", loopback.Host()))
}

// serve starts a server and waits until it listens. Later flags win, so o's may
// name an address. When the test ends, the server is stopped; its log must have
// no panic, no fault and no race.
func serve(t testing.TB, o options) *server {
	t.Helper()
	args := []string{"serve", "--json", "--rtmp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--rtsp", "127.0.0.1:0", "--webrtc", "127.0.0.1:0", "--srt", "127.0.0.1:0"}
	if o.tls {
		cert, key := testcert.Files(t)
		args = append(args, "--rtmps", "127.0.0.1:0", "--https", "127.0.0.1:0", "--cert", cert, "--key", key)
	}
	env := append([]string{"SLUICE_API_TOKEN=" + apiToken}, o.env...)
	line := append(append(append([]string{}, o.under...), sluice(t)), append(args, o.flags...)...)
	s := &server{process: start(t, env, line[0], line[1:]...)}
	t.Cleanup(func() {
		s.stop(t)
		if t.Failed() {
			t.Logf("the server's log ends with\n%s", s.stderr.tail(30))
		}
	})
	eventually(t, lengthened(10*time.Second), func() string {
		if s.ended() {
			t.Fatalf("sluice %q ended: %v: %s", s.cmd.Args[1:], s.err, s.stderr.tail(20))
		}
		line, _, whole := strings.Cut(s.stdout.String(), "\n")
		if !whole {
			return "no line on standard output"
		}
		if err := json.Unmarshal([]byte(line), s); err != nil {
			t.Fatalf("the line %q: %v", line, err)
		}
		return ""
	})
	return s
}

// stop ends a server that may have ended already.
func (s *server) stop(t testing.TB) {
	t.Helper()
	if !s.ended() {
		// The first signal drains, the second ends; two at once can be one.
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		deadline := time.NewTimer(lengthened(10 * time.Second))
		defer deadline.Stop()
	ending:
		for {
			s.cmd.Process.Signal(syscall.SIGTERM)
			select {
			case <-s.done:
				break ending
			case <-tick.C:
			case <-deadline.C:
				t.Errorf("the server runs on after many a SIGTERM")
				s.cmd.Process.Signal(syscall.SIGQUIT)
				break ending
			}
		}
		<-s.done
	}
	log := s.stderr.String()
	for _, bad := range []string{"panic:", "DATA RACE", "fatal error:", "goroutine 1 [", "a fault of the server"} {
		if at := strings.Index(log, bad); at >= 0 {
			t.Errorf("the server's log has %q:\n%s", bad, log[at:min(len(log), at+8000)])
			break
		}
	}
}

// get asks the API, over HTTP.
func (s *server) get(t testing.TB, path string, v any) {
	t.Helper()
	resp := s.api(t, http.MethodGet, path)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %s", path, resp.Status, err, body)
	}
	switch v := v.(type) {
	case *string:
		*v = string(body)
	default:
		if err := json.Unmarshal(body, v); err != nil {
			t.Fatalf("%s: %v: %s", path, err, body)
		}
	}
}

// apiToken is what the API of the tests' servers asks for.
const apiToken = "the API token of the tests"

// api sends a request with the API token.
func (s *server) api(t testing.TB, method, path string) *http.Response {
	t.Helper()
	req, err := http.NewRequest(method, "http://"+s.HTTP+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+apiToken)
	resp, err := apiClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// apiClient keeps no connections, so that none of the tests' own is counted.
var apiClient = &http.Client{
	Timeout:   eventTimeout,
	Transport: &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{Timeout: eventTimeout}).DialContext},
}

type streamInfo struct {
	Name      string
	State     string
	Publisher *struct{ ID, Address, Protocol string }
	Viewers   int
	Protocols map[string]int
	Video     struct {
		Codec         string
		Width, Height int
	}
	Audio struct {
		Codec          string
		Rate, Channels int
	}
	FramesIn int `json:"frames_in"`
	Dropped  int
	Jumps    int
	Evicted  int
}

func (s *server) streams(t testing.TB) []streamInfo {
	t.Helper()
	var answer struct{ Streams []streamInfo }
	s.get(t, "/api/streams", &answer)
	return answer.Streams
}

// stream is what the API says of one stream, or nil.
func (s *server) stream(t testing.TB, name string) *streamInfo {
	t.Helper()
	for _, info := range s.streams(t) {
		if info.Name == name {
			return &info
		}
	}
	return nil
}

type clientInfo struct {
	ID, Role, Stream, Protocol, Address, Agent string

	Frames, Jumps, Dropped int
	Bytes                  int64
	MergeMS                int `json:"merge_ms"`
	LagMS                  int `json:"lag_ms"`
}

func (s *server) clients(t testing.TB) []clientInfo {
	t.Helper()
	var answer struct{ Clients []clientInfo }
	s.get(t, "/api/clients", &answer)
	return answer.Clients
}

// awaitLive waits until the stream has a publisher.
func (s *server) awaitLive(t testing.TB, name string) {
	t.Helper()
	eventually(t, lengthened(15*time.Second), func() string {
		if info := s.stream(t, name); info == nil || info.State != "live" || info.FramesIn == 0 {
			return name + " is not live"
		}
		return ""
	})
}

// awaitFrames waits until so many frames of a stream have come, headers included.
func (s *server) awaitFrames(t testing.TB, name string, n int) {
	t.Helper()
	eventually(t, lengthened(15*time.Second), func() string {
		if info := s.stream(t, name); info == nil || info.FramesIn < n {
			return fmt.Sprintf("%s has not had %d frames: %+v", name, n, info)
		}
		return ""
	})
}

// awaitViewers waits until a stream has n viewers.
func (s *server) awaitViewers(t testing.TB, name string, n int, limit time.Duration) {
	t.Helper()
	eventually(t, limit, func() string {
		switch info := s.stream(t, name); {
		case info == nil:
			return "no stream " + name
		case info.Viewers != n:
			return "not the right number of viewers of " + name
		}
		return ""
	})
}
