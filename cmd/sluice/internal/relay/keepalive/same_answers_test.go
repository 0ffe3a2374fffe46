package keepalive

import (
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

const text = "0123456789abcdefghijklmnopqrstuvwxyz"

// various answers in every way that a handler may.
func various(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain")
	h.Set("X-Request", r.Method+" "+r.Host+" "+r.URL.String()+" "+r.Header.Get("X-Mine"))
	switch _, what, _ := strings.Cut(r.URL.Path[1:], "/"); what {
	case "length":
		h.Set("Content-Length", strconv.Itoa(len(text)))
		io.WriteString(w, text[:5])
		io.WriteString(w, text[5:])
	case "none":
	case "small":
		io.WriteString(w, text)
		w.Write([]byte(text))
	case "long":
		for range 100 {
			io.WriteString(w, strings.Repeat(text, 100))
		}
	case "long-length":
		h.Set("Content-Length", strconv.Itoa(len(text)*10_000))
		w.Write([]byte(strings.Repeat(text, 10_000)))
	case "range":
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
	case "error":
		http.Error(w, "this is wrong", http.StatusTeapot)
		h.Set("X-Late", "1")
	case "204":
		h.Set("Content-Length", "3")
		w.WriteHeader(http.StatusNoContent)
		if _, err := io.WriteString(w, "abc"); err != http.ErrBodyNotAllowed {
			panic(err)
		}
	case "close":
		h.Set("Connection", "close")
		io.WriteString(w, text)
	case "short":
		h.Set("Content-Length", "50")
		io.WriteString(w, text)
	case "much":
		h.Set("Content-Length", "5")
		if _, err := io.WriteString(w, text); err != http.ErrContentLength {
			panic(err)
		}
	case "bad-length":
		h.Set("Content-Length", "many")
		w.WriteHeader(http.StatusOK)
		w.WriteHeader(http.StatusAccepted) // too late
		io.WriteString(w, text)
	case "value":
		h.Set("X-Split", "a\r\nX-Other: b")
	case "body":
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%q %v", body, err)
	}
}

// What a client may send, with the method of the answer.
var exchanges = []struct{ name, method, send string }{
	{"length", "GET", "GET /m/length HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"HEAD with a length", "HEAD", "HEAD /m/length HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"fields", "GET", "GET /m/length?a=b&c HTTP/1.1\r\nhost: x:80\r\nX-Mine: \t1 2\t\r\nConnection: Keep-Alive\r\nAccept: */*\r\n\r\n"},
	{"nothing", "GET", "GET /m/none HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"no length", "GET", "GET /m/small HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"long", "GET", "GET /m/long HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"long with a length", "GET", "GET /m/long-length HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"error", "GET", "GET /m/error HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"204", "GET", "GET /m/204 HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"the handler closes", "GET", "GET /m/close HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"less than the length", "GET", "GET /m/short HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"more than the length", "GET", "GET /m/much HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"a length that is none", "GET", "GET /m/bad-length HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"a line end in a value", "GET", "GET /m/value HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"range", "GET", "GET /m/range HTTP/1.1\r\nHost: x\r\nRange: bytes=3-7\r\n\r\n"},
	{"suffix range", "GET", "GET /m/range HTTP/1.1\r\nHost: x\r\nRange: bytes=-7\r\n\r\n"},
	{"HEAD of a range", "HEAD", "HEAD /m/range HTTP/1.1\r\nHost: x\r\nRange: bytes=3-7\r\n\r\n"},
	{"range beyond the end", "GET", "GET /m/range HTTP/1.1\r\nHost: x\r\nRange: bytes=300-700\r\n\r\n"},
	{"304", "GET", "GET /m/range HTTP/1.1\r\nHost: x\r\nIf-None-Match: *\r\n\r\n"},
	{"another path", "GET", "GET /other/small HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"the client closes", "GET", "GET /m/small HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"},
	{"the client closes, in a list", "GET", "GET /m/small HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, close\r\n\r\n"},
	{"HTTP/1.0", "GET", "GET /m/small HTTP/1.0\r\nHost: x\r\n\r\n"},
	{"HTTP/1.0, kept", "GET", "GET /m/small HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n"},
	{"HTTP/2", "GET", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
	{"HTTP/1.2", "GET", "GET /m/small HTTP/1.2\r\nHost: x\r\n\r\n"},
	{"POST", "POST", "POST /m/body HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"},
	{"GET with a body", "GET", "GET /m/body HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"},
	{"GET with an empty body", "GET", "GET /m/body HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"},
	{"chunked", "POST", "POST /m/body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
	{"both lengths", "GET", "GET /m/body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n"},
	{"two lengths", "GET", "GET /m/body HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nhello"},
	{"a length that is none", "GET", "GET /m/body HTTP/1.1\r\nHost: x\r\nContent-Length: +0\r\n\r\n"},
	{"an unknown coding", "GET", "GET /m/body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n"},
	{"an expectation", "GET", "GET /m/body HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\n\r\n"},
	{"an upgrade", "GET", "GET /m/small HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"},
	{"OPTIONS", "OPTIONS", "OPTIONS /m/small HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"OPTIONS *", "OPTIONS", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"CONNECT", "GET", "CONNECT a:80 HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"a method in small letters", "GET", "get /m/small HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"absolute form", "GET", "GET http://y/m/small HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"a path that is escaped", "GET", "GET /m%2fsmall/../a?%zz HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"a bad escape", "GET", "GET /m/%zz HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"no host", "GET", "GET /m/small HTTP/1.1\r\n\r\n"},
	{"an empty host", "GET", "GET /m/small HTTP/1.1\r\nHost:\r\n\r\n"},
	{"two hosts", "GET", "GET /m/small HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"},
	{"a bad host", "GET", "GET /m/small HTTP/1.1\r\nHost: x y\r\n\r\n"},
	{"a space before the colon", "GET", "GET /m/small HTTP/1.1\r\nHost: x\r\nContent-Length : 5\r\n\r\nhello"},
	{"a bad name", "GET", "GET /m/small HTTP/1.1\r\nHost: x\r\nX(: 1\r\n\r\n"},
	{"an empty name", "GET", "GET /m/small HTTP/1.1\r\nHost: x\r\n: 1\r\n\r\n"},
	{"no colon", "GET", "GET /m/small HTTP/1.1\r\nHost: x\r\nX\r\n\r\n"},
	{"a folded line", "GET", "GET /m/length HTTP/1.1\r\nHost: x\r\nX-Mine: a\r\n b\r\n\r\n"},
	{"a first line that is folded", "GET", "GET /m/length HTTP/1.1\r\n Host: x\r\n\r\n"},
	{"other letters", "GET", "GET /m/length HTTP/1.1\r\nHost: x\r\nX-Mine: \u00e9\r\n\r\n"},
	{"a zero", "GET", "GET /m/length HTTP/1.1\r\nHost: x\r\nX-Mine: \x00\r\n\r\n"},
	{"LF", "GET", "GET /m/length HTTP/1.1\nHost: x\n\n"},
	{"LF at the end", "GET", "GET /m/length HTTP/1.1\r\nHost: x\r\n\n"},
	{"CR", "GET", "GET /m/length HTTP/1.1\r\nHost: x\r\nX-Mine: a\rb\r\n\r\n"},
	{"lines before it", "GET", "\r\n\r\nGET /m/length HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"TLS", "GET", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"},
	{"a long header", "GET", "GET /m/length HTTP/1.1\r\nHost: x\r\nX-Mine: " + strings.Repeat("a", 5000) + "\r\n\r\n"},
	{"one of 4 KiB", "GET", "GET /m/length HTTP/1.1\r\nHost: x\r\nX-Mine: " + strings.Repeat("a", longestHeader-51) + "\r\n\r\n"},
	{"one that is too long", "GET", "GET /m/length HTTP/1.1\r\nHost: x\r\nX-Mine: " + strings.Repeat("a", 2<<20) + "\r\n\r\n"},
}

// broken is before what was read of a body whose end is not there.
const broken = "broken: "

// framing are the fields by which an answer of unknown length may differ.
var framing = []string{"Content-Length", "Connection", "Date"}

// Each exchange has the answer that net/http gives, however slowly it comes, and so has
// the one behind it.
func TestAnswersAreThoseOfNetHTTP(t *testing.T) {
	f := begin(t, various, nil)
	for _, x := range exchanges {
		for _, slow := range []bool{false, true} {
			if slow && len(x.send) > 10_000 {
				continue
			}
			type seen struct {
				status int
				header http.Header
				body   string
				again  bool
			}
			ask := func(address string) (s seen) {
				c := dial(t, address)
				defer c.Close()
				c.send(t, x.send, slow)
				resp, body := c.answer(t, x.method)
				if resp == nil {
					return s
				}
				s.status, s.header, s.body = resp.StatusCode, resp.Header, body
				s.body = strings.TrimPrefix(body, broken) // what a client is still sending when it is refused may reset the connection
				if len(resp.TransferEncoding) > 0 || x.name == "long" || strings.Contains(x.send, "bad-length") {
					for _, name := range framing {
						delete(s.header, name)
					}
					return s
				}
				if s.header.Get("Date") == "" && s.status < 400 {
					t.Errorf("%s: no date in %v", x.name, s.header)
				}
				delete(s.header, "Date")
				c.send(t, "GET /m/small HTTP/1.1\r\nHost: x\r\n\r\n", false)
				next, body := c.answer(t, "GET")
				s.again = next != nil && body == text+text
				return s
			}
			got, want := ask(f.at), ask(f.plain)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, slow %v:\n %.300q\nnet/http:\n %.300q", x.name, slow, fmt.Sprint(got), fmt.Sprint(want))
			}
		}
	}
}

// Requests that come together are answered in their order.
func TestPipelinedRequests(t *testing.T) {
	f := begin(t, various, nil)
	c := dial(t, f.at)
	for _, ahead := range []int{1, 3, 2, 200, 1} {
		var all strings.Builder
		for i := range ahead {
			fmt.Fprintf(&all, "GET /m/length?%d HTTP/1.1\r\nHost: x\r\n\r\n", i)
		}
		c.send(t, all.String(), false)
		for i := range ahead {
			if resp, body := c.answer(t, "GET"); body != text || !strings.Contains(resp.Header.Get("X-Request")+"!", fmt.Sprintf("?%d!", i)) {
				t.Fatalf("answer %d of %d: %v %q", i, ahead, resp, body)
			}
		}
	}
}

// What has come behind the first request is answered too.
func TestWhatWasReadBefore(t *testing.T) {
	f := begin(t, various, nil)
	c, other := pair(t)
	f.kept.Take(&returnable{Conn: other}, []byte("GET /m/length HTTP/1.1\r\nHo"))
	c.send(t, "st: x\r\n\r\n", false)
	if _, body := c.answer(t, "GET"); body != text {
		t.Errorf("%q", body)
	}
}

// scan says the same of a header that comes in two pieces.
func TestHeadersInPieces(t *testing.T) {
	for _, x := range exchanges {
		if len(x.send) > longestHeader {
			continue
		}
		whole, plain := scan([]byte(x.send), 0)
		for n := range len(x.send) {
			early, ok := scan([]byte(x.send[:n]), 0)
			if early && !strings.HasSuffix(x.send[:n], "\r\n\r\n") {
				t.Errorf("%s: whole after %d of %d bytes", x.name, n, len(x.send))
			}
			if early || !ok {
				break // no more is read
			}
			if w, p := scan([]byte(x.send), n); w != whole || p != plain {
				t.Errorf("%s, cut at %d: %v %v, in one piece %v %v", x.name, n, w, p, whole, plain)
			}
		}
	}
}
