package edge

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvbody"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// scripted is an origin that answers each request with bytes, in writes of so many at most,
// and hangs up. It returns the address and the requests' first lines so far.
func scripted(t *testing.T, piece int, answer func(path string) []byte) (address string, asked func() []string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var lines []string
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				req, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				mu.Lock()
				lines = append(lines, fmt.Sprintf("%s %s close=%v agent=%s", req.Method, req.RequestURI, req.Close, req.UserAgent()))
				mu.Unlock()
				for part := range slices.Chunk(answer(req.URL.Path), piece) {
					if _, err := conn.Write(part); err != nil {
						return // the puller has read enough
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	return "http://" + l.Addr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(lines)
	}
}

// ask has a puller ask for a stream, and returns the status and what came.
func ask(t *testing.T, p *Puller, url string) (status int, tags []flvtest.Tag, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", player)
	resp, err := p.get(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.close()
	body := flvbody.New(resp.body, resp.length, 1<<20, nil)
	defer body.Close()
	for {
		tag, err := body.Next()
		if err != nil {
			return resp.status, tags, err
		}
		tags = append(tags, flvtest.Tag{Type: tag.Type, Time: tag.Time, Payload: string(tag.Payload.Bytes())})
		tag.Release()
	}
}

// What origins may answer, in pieces of any size.
func TestAnswersOfOrigins(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	_, want := flvtest.Sizes()
	file, want := flvtest.Header, want[:3]
	for _, g := range want {
		file = append(bytes.Clone(file), g.Append(nil)...)
	}
	chunked := string(bytes.TrimSuffix(flvtest.Chunked(file[:30], file[30:]), []byte("NEXT")))
	var each strings.Builder
	for i := range file {
		fmt.Fprintf(&each, "1\r\n%s\r\n", file[i:i+1])
	}
	ok := "HTTP/1.1 200 OK\r\nServer: x\r\n"
	for name, c := range map[string]struct {
		answer string
		status int
		tags   int
		err    string // a part
	}{
		"chunked":                    {ok + "Transfer-Encoding: chunked\r\n\r\n" + chunked, 200, 3, "EOF"},
		"chunked, cut off":           {ok + "Transfer-Encoding: chunked\r\n\r\n" + chunked[:len(chunked)-30], 200, 2, "unexpected EOF"},
		"a length":                   {ok + fmt.Sprintf("Content-Length: %d\r\n\r\n%sNEXT", len(file), file), 200, 3, "EOF"},
		"a length, cut off":          {ok + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(file)+1, file), 200, 3, "unexpected EOF"},
		"to the end":                 {ok + "\r\n" + string(file), 200, 3, "EOF"},
		"to the end, cut off":        {ok + "\r\n" + string(file[:len(file)-10]), 200, 2, "unexpected EOF"},
		"HTTP/1.0":                   {"HTTP/1.0 200 OK\r\n\r\n" + string(file), 200, 3, "EOF"},
		"after others":               {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok + "\r\n" + string(file), 200, 3, "EOF"},
		"not found":                  {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404, 0, "unexpected EOF"},
		"nothing":                    {"", 0, 0, "EOF"},
		"a header that is cut off":   {ok, 0, 0, "unexpected EOF"},
		"no HTTP":                    {"RTSP/1.0 200 OK\r\n\r\n", 0, 0, "malformed HTTP"},
		"a header without an end":    {ok + strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 200), 0, 0, "longer than 65536 bytes"},
		"a line without an end":      {ok + "X: " + strings.Repeat("y", 200_000), 0, 0, "longer than 65536 bytes"},
		"answers that only announce": {strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 1000), 0, 0, "8 answers"},
		"one byte in each chunk":     {ok + "Transfer-Encoding: chunked\r\n\r\n" + each.String() + "0\r\n\r\n", 200, 3, "EOF"},
		"an empty body":              {ok + "Content-Length: 0\r\n\r\n", 200, 0, "unexpected EOF"},
		"no content":                 {"HTTP/1.1 204 No Content\r\n\r\n", 204, 0, "unexpected EOF"},
		"not modified":               {"HTTP/1.1 304 Not Modified\r\n\r\n", 304, 0, "unexpected EOF"},
		"other protocols":            {"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", 101, 0, "unexpected EOF"},
		"compressed":                 {ok + "Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08" + strings.Repeat("x", 20), 200, 0, "syntax error"},
		"compressed on the way":      {ok + "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunked, 0, 0, "unsupported transfer encoding"},
		"lengths that differ":        {ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 0, 0, "Content-Length"},
		"a redirection in a circle":  {"HTTP/1.1 302 Found\r\nLocation: /here\r\nContent-Length: 0\r\n\r\n", 0, 0, "10 redirects"},
		"a redirection to RTMP":      {"HTTP/1.1 302 Found\r\nLocation: rtmp://127.0.0.1:1/live/s\r\nContent-Length: 0\r\n\r\n", 0, 0, "unsupported protocol"},
		"a redirection":              {"HTTP/1.1 307 Temporary Redirect\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n", 200, 3, "EOF"},
	} {
		for _, piece := range []int{1 << 20, 100, 7, 1} {
			if piece < 100 && len(c.answer) > 10_000 {
				continue
			}
			address, asked := scripted(t, piece, func(path string) []byte {
				if path == "/there" {
					return []byte(ok + "Transfer-Encoding: chunked\r\n\r\n" + chunked)
				}
				return []byte(c.answer)
			})
			p := newPuller(t, address, &local{}, nil)
			status, tags, err := ask(t, p, address+"/here?a=b")
			if status != c.status || err == nil || !strings.Contains(err.Error(), c.err) || (c.err == "EOF" && status != 0 && err != io.EOF) {
				t.Errorf("%s in pieces of %d: %d, %v", name, piece, status, err)
			}
			if !slices.Equal(tags, want[:c.tags]) {
				t.Errorf("%s in pieces of %d: %d tags", name, piece, len(tags))
			}
			requests := asked()
			if got := requests[0]; got != "GET /here?a=b close=true agent="+player {
				t.Errorf("%s: the request was %s", name, got)
			}
			if len(requests) > 1 && strings.HasPrefix(requests[1], "GET /here?") {
				t.Errorf("%s: asked twice", name)
			}
		}
	}
}

// An origin that stops half way, before or behind its header, is given up in time.
func TestAnswersThatStopHalfWay(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	file, _ := flvtest.Sizes()
	answer := []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n" + string(file[:200]))
	for _, n := range []int{0, 1, 17, 40, 60, len(answer)} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		sent := make(chan net.Conn, 1)
		go func() {
			conn, err := l.Accept()
			if err != nil {
				close(sent)
				return
			}
			conn.Write(answer[:n])
			sent <- conn
		}()
		p := newPuller(t, "http://"+l.Addr().String(), &local{}, func(o *Options) { o.Start, o.Idle = 50*time.Millisecond, 50*time.Millisecond })
		began := time.Now()
		_, _, err = ask(t, p, "http://"+l.Addr().String()+"/live/s.flv")
		if err == nil || !strings.Contains(err.Error(), "timeout") {
			t.Errorf("%d bytes: %v after %v", n, err, time.Since(began))
		}
		if conn, ok := <-sent; ok {
			conn.Close()
		}
		l.Close()
	}
}

// What an origin says instead of an answer is not logged at any length.
func TestErrorsOfOriginsAreShort(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	address, _ := scripted(t, 1<<20, func(string) []byte { return []byte(strings.Repeat("\xf0\x9f\x98\x80", 10_000) + "\n\n") })
	err := pull(t, newPuller(t, address, &local{}, nil), "live/s")
	if err == nil || !strings.Contains(err.Error(), "malformed HTTP") || len(err.Error()) > maxText+len("...") {
		t.Errorf("%d bytes: %.400v", len(err.Error()), err)
	}
	far := fmt.Errorf("%s: %w", strings.Repeat("x", 2*maxText), ErrDenied)
	if err := shorten(far); !errors.Is(err, ErrDenied) || len(err.Error()) > maxText+len("...") {
		t.Error(err)
	}
	if shorten(ErrDenied) != ErrDenied || shorten(nil) != nil {
		t.Error("short ones are others")
	}
}

// The header of an origin with TLS has no more room than that of one without.
func TestLongHeadersOverTLS(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X", strings.Repeat("y", 2*maxHeader))
	}))
	t.Cleanup(server.Close)
	p := newPuller(t, server.URL, &local{}, func(o *Options) {
		o.TLS = &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	})
	if _, _, err := ask(t, p, server.URL+"/live/s.flv"); err == nil || !strings.Contains(err.Error(), "headers exceeded") {
		t.Error(err)
	}
}

// DNS knows such names in another spelling, which net/http's client has.
func TestNamesThatAreNotASCII(t *testing.T) {
	asked := ""
	p := newPuller(t, "http://b\u00fccher.invalid:8080", &local{}, nil)
	p.client.Transport = exchanging(func(r *http.Request) (*http.Response, error) {
		asked = r.URL.Host
		return nil, io.ErrClosedPipe
	})
	if err := pull(t, p, "live/s"); !errors.Is(err, io.ErrClosedPipe) || asked != "b\u00fccher.invalid:8080" {
		t.Errorf("%q was asked: %v", asked, err)
	}
}

type exchanging func(*http.Request) (*http.Response, error)

func (e exchanging) RoundTrip(r *http.Request) (*http.Response, error) { return e(r) }

// A puller ends at once and leaves nothing, wherever its origin has stopped.
func TestCloseInEveryState(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	file, _ := flvtest.Sizes()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	config := secure.TLS.Clone()
	secure.Close()
	ok := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
	for _, c := range []struct{ scheme, answer string }{
		{"http", ""}, {"http", "HTTP/1.1 20"}, {"http", ok}, {"http", "HTTP/1.1 103 Early Hints\r\n\r\n"}, {"http", ok + "\r\n"},
		{"http", ok + "\r\nff"}, {"http", ok + "\r\nff\r\nFLV\x01"}, {"http", ok + "\r\nfff\r\n" + string(file)},
		{"https", ""}, {"https", ok}, {"https", ok + "\r\nfff\r\n" + string(file)},
		{"rtmp", ""}, {"rtmp", "\x03"}, {"rtmp", "\x03" + strings.Repeat("\x00", 3072)},
		{"rtmps", ""}, {"rtmps", "\x03" + strings.Repeat("\x00", 3072)},
	} {
		for _, secured := range []bool{true, false} {
			if !secured && !strings.HasSuffix(c.scheme, "s") {
				continue
			}
			name := fmt.Sprintf("%s, secured %v, after %.60q", c.scheme, secured, c.answer)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			there := make(chan net.Conn, 1)
			go func() {
				conn, err := l.Accept()
				if err != nil {
					close(there)
					return
				}
				if secured {
					if strings.HasSuffix(c.scheme, "s") {
						conn = tls.Server(conn, config)
					}
					if strings.HasPrefix(c.scheme, "http") {
						if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
							t.Errorf("%s: %v", name, err)
						}
					}
					io.WriteString(conn, c.answer)
				}
				there <- conn
			}()
			lone := &local{}
			lone.viewers.Store(1)
			p := newPuller(t, c.scheme+"://"+l.Addr().String(), lone, func(o *Options) {
				o.Start, o.Idle, o.TLS = time.Hour, time.Hour, &tls.Config{InsecureSkipVerify: true}
			})
			over := make(chan struct{})
			go func() {
				defer close(over)
				_ = pull(t, p, "live/s")
			}()
			conn := <-there
			p.Close()
			<-over
			// The puller has hung up: what it had sent comes to an end.
			_ = conn.SetReadDeadline(time.Now().Add(eventTimeout))
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: the connection is open", name)
			}
			conn.Close()
			l.Close()
			if out := mem.Default().Stats().OutBytes; out != 0 {
				t.Errorf("%s: %d bytes are held", name, out)
			}
		}
	}
}
