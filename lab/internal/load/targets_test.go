package load

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/sluice-go/sluice/lab/internal/load/wire"
)

// brief is a plan for a target that is over soon.
func brief(target string) Plan {
	p := Default()
	p.Target = target
	p.Warmup, p.Duration, p.Conns, p.Depth = 20*time.Millisecond, 200*time.Millisecond, 3, 1
	return p
}

// served runs a plan that has to go well, for long enough to answer a few dozen requests.
func served(t *testing.T, p Plan) *Result {
	t.Helper()
	r, err := Run(t.Context(), p, nil)
	for err == nil && r.Requests < 50 && r.Errors == 0 && p.Duration < 10*time.Second {
		p.Duration *= 4 // the machine had no time for it
		r, err = Run(t.Context(), p, nil)
	}
	if err != nil {
		t.Fatalf("%s: %v", p.Target, err)
	}
	if r.Requests == 0 || r.Errors > 0 {
		t.Fatalf("%s: %d requests, %d errors: %s", p.Target, r.Requests, r.Errors, r.Error)
	}
	return r
}

// webServer serves HTTP until the test ends.
func webServer(t *testing.T, h http.HandlerFunc, secure bool, change ...func(*http.Server)) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = true
	var both http.Protocols
	both.SetHTTP1(true)
	both.SetUnencryptedHTTP2(true)
	both.SetHTTP2(true)
	s.Config.Protocols = &both
	for _, f := range change {
		f(s.Config)
	}
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// certificate writes the certificate of a server to a file.
func certificate(t *testing.T, s *httptest.Server) string {
	name := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestHTTPTargets(t *testing.T) {
	t.Parallel()
	var asked atomic.Pointer[http.Request]
	var proto atomic.Int64
	var body atomic.Pointer[[]byte]
	handler := func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body.Store(&b)
		asked.Store(r)
		proto.Store(int64(r.ProtoMajor))
		w.Write(bytes.Repeat([]byte("x"), 3000))
		if r.URL.Query().Has("flush") {
			w.(http.Flusher).Flush() // the length is not known: chunks
			w.Write([]byte("y"))
		}
	}
	plain, secure := webServer(t, handler, false), webServer(t, handler, true)
	ca := certificate(t, secure)
	for _, c := range []struct {
		url     string
		options wire.Options
		engine  string
		proto   int64
		bytes   uint64
	}{
		{plain.URL + "/a", wire.Options{}, "", 1, 3000},
		{plain.URL + "/a", wire.Options{}, "portable", 1, 3000},
		{plain.URL + "/a?flush=1,2", wire.Options{HTTP: &wire.HTTP{Method: "PUT", Headers: []string{"X-Test: yes"}, Body: []byte("hello")}}, "", 1, 3001},
		{plain.URL + "/a", wire.Options{HTTP: &wire.HTTP{Two: true}}, "", 2, 3000},
		{secure.URL + "/a", wire.Options{CA: ca}, "", 1, 3000},
		{secure.URL + "/a", wire.Options{Insecure: true, HTTP: &wire.HTTP{Method: "POST", Headers: []string{"X-Test: yes"}, Body: []byte("hello"), Two: true}}, "", 2, 3000},
	} {
		for _, rate := range []float64{0, 500} {
			p := brief(c.url)
			p.Requests, p.Engine, p.Rate = c.options, c.engine, rate
			if c.proto == 2 {
				p.Depth = 4
			}
			r := served(t, p)
			if r.Bytes != r.Requests*c.bytes || len(r.Replies) != 1 || r.Replies[0] != (Replies{"2xx", r.Requests, false}) || proto.Load() != c.proto {
				t.Errorf("%s over HTTP/%d: %d requests, %d bytes, %+v", c.url, proto.Load(), r.Requests, r.Bytes, r.Replies)
			}
			if h := c.options.HTTP; h != nil && h.Body != nil {
				if got := asked.Load(); got.Method != h.Method || got.Header.Get("X-Test") != "yes" || string(*body.Load()) != "hello" {
					t.Errorf("%s: asked with %s, %v, %q", c.url, got.Method, got.Header, *body.Load())
				}
			}
		}
	}
	p := brief(secure.URL)
	if _, err := Run(t.Context(), p, nil); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that is not known: %v", err)
	}
}

// A server that ends connections between replies, as all may, fails no request.
func TestHTTPTargetsThatEndConnections(t *testing.T) {
	t.Parallel()
	for _, engine := range append(engines(), "HTTP/2") {
		for _, depth := range []int{1, 4} {
			var asked atomic.Int64
			s := webServer(t, func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1)%7 == 0 {
					w.Header().Set("Connection", "close")
				}
				w.Write([]byte("ok"))
			}, false)
			p := brief(s.URL)
			p.Engine, p.Depth = engine, depth
			if engine == "HTTP/2" { // whose streams go on until the last is answered
				p.Engine, p.Requests.HTTP = "", &wire.HTTP{Two: true}
			}
			r := served(t, p)
			if r.Redials < r.Requests/28 || r.Redials == 0 {
				t.Errorf("%s, depth %d: %d connections anew for %d requests", engine, depth, r.Redials, r.Requests)
			}
		}
		if engine == "HTTP/2" {
			continue
		}
		// HTTP/1.0: a reply ends with its connection.
		old := serve(t, "tcp", "127.0.0.1:0", func(conn net.Conn) {
			buf := make([]byte, 4096)
			if _, err := conn.Read(buf); err == nil {
				io.WriteString(conn, "HTTP/1.0 200 OK\r\n\r\nhello")
			}
		})
		p := brief("http://" + old.name())
		p.Engine = engine
		if r := served(t, p); r.Bytes != 5*r.Requests {
			t.Errorf("%s: %d bytes in %d requests", engine, r.Bytes, r.Requests)
		}
	}
}

// A server that refuses a request before it has the whole body, and ends the connection, has answered it.
func TestRepliesBeforeTheWholeRequest(t *testing.T) {
	t.Parallel()
	for _, engine := range engines() {
		s := serve(t, "tcp", "127.0.0.1:0", func(conn net.Conn) {
			if _, err := conn.Read(make([]byte, 4096)); err == nil {
				io.WriteString(conn, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
			}
		})
		p := brief("http://" + s.name())
		p.Engine, p.Requests.HTTP = engine, &wire.HTTP{Method: "POST", Body: make([]byte, 8<<20)}
		r, err := Run(t.Context(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Errors != 0 || r.Failure != "413 Too Large" { // there may be none in the time measured
			t.Errorf("%s: %d errors, the first %s; %q", engine, r.Errors, r.Error, r.Failure)
		}
	}
}

// A server that takes fewer streams at once than there are requests under way has the others wait.
func TestHTTP2TargetsThatTakeFewStreams(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int64
	s := webServer(t, func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for before := most.Load(); n > before && !most.CompareAndSwap(before, n); before = most.Load() {
		}
	}, true, func(s *http.Server) { s.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 2} })
	p := brief(s.URL)
	p.Depth, p.Conns = 8, 1
	p.Requests = wire.Options{CA: certificate(t, s), HTTP: &wire.HTTP{Two: true}}
	if served(t, p); most.Load() > 2 {
		t.Errorf("%d requests at once", most.Load())
	}
}

func TestRepliesThatFailMakeARunInvalid(t *testing.T) {
	t.Parallel()
	for _, two := range []bool{false, true} {
		var asked atomic.Int64
		s := webServer(t, func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1)%2 == 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}, false)
		p := brief(s.URL)
		p.Requests.HTTP = &wire.HTTP{Two: two}
		r := served(t, p)
		if r.Valid || r.Latency != nil || len(r.Replies) != 2 || !r.Replies[1].Failed || r.Replies[1].Class != "5xx" || r.Failure != "503 Service Unavailable" {
			t.Errorf("%+v, %+v, %q", r.Replies, r.Reasons, r.Failure)
		}
		found := false
		for _, reason := range r.Reasons {
			found = found || reason.Code == RepliesFailed
		}
		if !found {
			t.Errorf("%+v", r.Reasons)
		}
	}
}

func TestWebSocketTargets(t *testing.T) {
	t.Parallel()
	var header atomic.Pointer[http.Header]
	echoing := func(w http.ResponseWriter, r *http.Request) {
		h := r.Header.Clone()
		header.Store(&h)
		ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"mqtt"}})
		if err != nil {
			return
		}
		defer ws.CloseNow()
		ws.SetReadLimit(1 << 20)
		if r.URL.Path == "/greets" { // the second in several pieces
			err = errors.Join(ws.Write(r.Context(), websocket.MessageText, []byte("hello")), ws.Write(r.Context(), websocket.MessageBinary, make([]byte, 200_000)))
		}
		for err == nil {
			kind, message, err := ws.Read(r.Context())
			if err != nil {
				return
			}
			if r.URL.Path == "/other" {
				message = []byte("ok")
			}
			if ws.Write(r.Context(), kind, message) != nil {
				return
			}
		}
	}
	plain, secure := webServer(t, echoing, false), webServer(t, echoing, true)
	for url, options := range map[string]wire.Options{
		"ws" + strings.TrimPrefix(plain.URL, "http") + "/same":    {HTTP: &wire.HTTP{Headers: []string{"X-Test: yes"}}},
		"ws" + strings.TrimPrefix(plain.URL, "http") + "/other":   {HTTP: &wire.HTTP{Headers: []string{"X-Test: yes", "Sec-WebSocket-Protocol: soap, mqtt"}}},
		"wss" + strings.TrimPrefix(secure.URL, "https") + "/same": {Insecure: true, HTTP: &wire.HTTP{Headers: []string{"X-Test: yes"}}},
	} {
		p := brief(url)
		p.Requests, p.Depth, p.Verify = options, 3, strings.HasSuffix(url, "/same")
		p.Sizes = Sizes{Min: 1, Max: 70_000}
		r := served(t, p)
		if header.Load().Get("X-Test") != "yes" || !p.Verify && r.Bytes != 2*r.Requests {
			t.Errorf("%s: %v, %d bytes in %d requests", url, *header.Load(), r.Bytes, r.Requests)
		}
	}
	greeted := brief("ws" + strings.TrimPrefix(plain.URL, "http") + "/greets")
	greeted.Verify = true
	for tries := 0; ; tries++ { // on a machine that stands still a greeting may come late
		if r, err := Run(t.Context(), greeted, nil); err == nil && r.Errors == 0 {
			break
		} else if err != nil || tries == 10 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	// A verified message that is not the same fails the run.
	p := brief("ws" + strings.TrimPrefix(plain.URL, "http") + "/other")
	p.Verify = true
	if r, err := Run(t.Context(), p, nil); err != nil || r.Errors == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	// A silent server is noticed.
	silent := webServer(t, func(w http.ResponseWriter, r *http.Request) {
		if ws, err := websocket.Accept(w, r, nil); err == nil {
			ws.Read(r.Context())
			<-r.Context().Done()
		}
	}, false)
	p = brief("ws" + strings.TrimPrefix(silent.URL, "http"))
	p.Timeout = 100 * time.Millisecond
	if r, err := runShort(t, p); err != nil || !strings.Contains(r.Error, ErrSilent.Error()) {
		t.Errorf("%+v, %v", r, err)
	}
}

// What is not of the protocol is the target's answer, and no end of the connection.
func TestAWebSocketThatMisbehavesIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		frame string
		want  error
		says  string
	}{
		{"\xc2\x00", ErrAnswer, "unexpected rsv bits"},
		{"\x83\x00", ErrAnswer, "unknown opcode"},
		{"\x80\x00", ErrAnswer, "continuation frame"},
		{"\x88\x05\x03\xf3bye", ErrHungUp, "bye"},
		{"\x82\x7f", ErrHungUp, ""},
	} {
		s := webServer(t, func(w http.ResponseWriter, r *http.Request) {
			sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) // RFC 6455, 4.2.2
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprintf(conn, "HTTP/1.1 101 OK\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]))
			io.ReadFull(conn, make([]byte, 8))
			io.WriteString(conn, c.frame)
			if strings.HasPrefix(c.frame, "\x82") {
				return
			}
			io.Copy(io.Discard, conn)
		}, false)
		p := brief("ws" + strings.TrimPrefix(s.URL, "http"))
		if r, err := Run(t.Context(), p, nil); err != nil || !strings.HasPrefix(r.Error, c.want.Error()) || !strings.Contains(r.Error, c.says) {
			t.Errorf("% x: %+v, %v", c.frame, r, err)
		}
	}
}

func TestTCPTargetsWithTLS(t *testing.T) {
	t.Parallel()
	s := webServer(t, nil, true)
	g := serve(t, "tcp", "127.0.0.1:0", func(conn net.Conn) { echo(tls.Server(conn, &tls.Config{Certificates: s.TLS.Certificates})) })
	for _, protocol := range []Protocol{Frame, Echo} {
		p := brief("tcp+tls://" + g.name())
		p.Requests.CA, p.Protocol, p.Verify, p.Depth, p.Sizes = certificate(t, s), protocol, true, 3, Sizes{Min: 1, Max: 40_000}
		served(t, p)
	}
}

func TestRequestsOfOnesOwn(t *testing.T) {
	t.Parallel()
	g := serve(t, "tcp", "127.0.0.1:0", func(conn net.Conn) {
		for buf := make([]byte, 5); ; {
			if _, err := io.ReadFull(conn, buf); err != nil || string(buf) != "hello" {
				return
			}
			if _, err := io.WriteString(conn, "well, hello\n"); err != nil {
				return
			}
		}
	})
	for _, engine := range engines() {
		p := brief("tcp://" + g.name())
		p.Engine, p.Depth, p.Requests.Own = engine, 5, &wire.Own{Request: []byte("hello"), Reply: `delimiter:\n`}
		if r := served(t, p); r.Bytes != 12*r.Requests || r.Plan.Speaks() != "own" {
			t.Errorf("%s: %d bytes in %d requests of %s", engine, r.Bytes, r.Requests, r.Plan.Speaks())
		}
	}
}

func TestFileTargets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, pattern := range []string{"read", "write", "randread", "randwrite"} {
		for _, rate := range []float64{0, 1000} {
			name := filepath.Join(dir, pattern)
			p := brief("file:" + name)
			p.Rate, p.Conns, p.Depth, p.Sizes = rate, 1, 3, OneSize(4096)
			p.Requests.File = &wire.File{Pattern: pattern, Size: 1<<20 + 100}
			if strings.HasSuffix(pattern, "write") {
				p.Requests.File.Sync = 10
			}
			r := served(t, p)
			if r.Bytes != 4096*r.Requests {
				t.Errorf("%s: %d bytes in %d requests", pattern, r.Bytes, r.Requests)
			}
			if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: the file that was made is still there: %v", pattern, err)
			}
		}
	}
}

// What was there before is written only if that is allowed, and is never removed,
// lengthened or cut.
func TestFilesThatExistAreKept(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "precious")
	before := bytes.Repeat([]byte("precious"), 5000)
	if err := os.WriteFile(name, before, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"write", "randwrite"} {
		p := brief("file:" + name)
		p.Sizes, p.Requests.File = OneSize(4096), &wire.File{Pattern: pattern, Size: 1 << 20}
		if _, err := Run(t.Context(), p, nil); !errors.Is(err, ErrPlan) || !strings.Contains(err.Error(), "exists") {
			t.Errorf("%s: %v", pattern, err)
		}
		// Also if it comes into being after the plan was checked.
		late := filepath.Join(t.TempDir(), "late")
		target, err := wire.ParseTarget("file:"+late, &wire.Options{File: p.Requests.File})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(late, before, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := target.Prepare(context.Background()); err == nil {
			t.Errorf("%s: a file that came into being is taken", pattern)
		}
	}
	p := brief("file:" + name)
	p.Sizes = OneSize(4096)
	served(t, p)
	if after, err := os.ReadFile(name); err != nil || !bytes.Equal(after, before) {
		t.Errorf("%d bytes that differ, %v", len(after), err)
	}
	p.Requests.File = &wire.File{Pattern: "write", Size: 1 << 20, Overwrite: true}
	served(t, p)
	if after, err := os.ReadFile(name); err != nil || len(after) != len(before) || bytes.Equal(after, before) {
		t.Errorf("allowed to write, %d bytes of %d, %v", len(after), len(before), err)
	}
	p.Sizes = OneSize(1 << 20)
	if r, err := Run(t.Context(), p, nil); err != nil || r.Errors == 0 {
		t.Errorf("a block longer than the file: %+v, %v", r, err)
	}
}

func TestAFileThatBecomesShorterIsNamed(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(name, make([]byte, 8192), 0o600); err != nil {
		t.Fatal(err)
	}
	target, err := wire.ParseTarget("file:"+name, &wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := target.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	calls, err := target.Caller(t.Context(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer calls.Close()
	if err := os.Truncate(name, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := calls.Call(t.Context(), &wire.Request{Size: 4096}); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), name) {
		t.Errorf("it does not say what ended: %v", err)
	}
}

func TestATargetThatFailsWithinTheWarmupIsTheReason(t *testing.T) {
	r := &Result{Errors: 1, Error: "connection refused", Shortfall: 1} // since it ended
	(&session{plan: &Plan{}}).judge(r)
	if r.Valid || len(r.Reasons) != 1 || r.Reasons[0].Code != TargetFailed {
		t.Errorf("%+v", r.Reasons)
	}
}
