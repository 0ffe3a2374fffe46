package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func anHTTP() Protocol { return &http1{same: same("x")} }

func TestHTTPReplies(t *testing.T) {
	for replies, want := range map[string][]Outcome{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello":                                                                   {{Class: 1, Payload: 5}},
		"HTTP/1.1 200 OK\r\ncontent-length:5 \r\nServer: x\r\n\r\nhelloHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n":   {{Class: 1, Payload: 5}, {Class: 3, Says: "404 Not Found"}},
		"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n":                               {{Class: 1}, {Class: 2}},
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 No\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 404\r\nContent-Length: 0\r\n\r\n": {{Class: 4, Payload: 1, Says: "500 No"}, {Class: 3}},
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx":                                                  {{Class: 1, Payload: 1, Last: true}},
		"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx":                                                                       {{Class: 1, Payload: 1, Last: true}},
		"HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: Keep-Alive\r\n\r\nx":                                             {{Class: 1, Payload: 1}},
		"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 204 x\r\n\r\n":                        {{Class: 1, Payload: 2}, {Class: 1}},
		// Lines that end with a bare LF: RFC 9112, 2.2.
		"HTTP/1.0 200 OK\nContent-Length: 5\nConnection: keep-alive\n\nhelloHTTP/1.1 204 x\n\n":                              {{Class: 1, Payload: 5}, {Class: 1}},
		"HTTP/1.1 200 OK\r\nContent-Length: 1\n\r\nxHTTP/1.1 103 Hints\nLink: x\n\nHTTP/1.1 200 OK\nContent-Length: 0\r\n\n": {{Class: 1, Payload: 1}, {Class: 1}},
		"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n0\nTrailer: 1\n\nHTTP/1.1 204 x\n\n":                       {{Class: 1, Payload: 5}, {Class: 1}},
		"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx":                                                                         {{Class: 1, Payload: 1}},
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n":                {{Class: 1, Payload: 15}},
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n1\r\nx\r\n0\r\nTrailer: 1\r\n\r\nHTTP/1.1 204 x\r\n\r\n": {{Class: 1, Payload: 1}, {Class: 1}},
	} {
		each(t, anHTTP, replies, want)
	}
	each(t, func() Protocol { return &http1{same: same("x"), bare: true} }, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", []Outcome{{Class: 1}, {Class: 1}})
}

func TestHTTPRepliesThatAreNone(t *testing.T) {
	for _, replies := range []string{
		"HTTP/2.0 200 OK\r\n\r\n", "SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 99 X\r\n\r\n", "HTTP/1.1 600 X\r\n\r\n", "HTTP/1.1 abc X\r\n\r\n",
		"HTTP/1.1 101 Switching\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1,\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", mostLine+10),
		"HTTP/1.1 200 OK\r\n" + strings.Repeat("X: x\r\n", mostLine/6+1), strings.Repeat("HTTP/1.1 103 Hints\r\n\r\n", mostLine/22+1),
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("X: x\r\n", mostLine/6+1),
	} {
		none(t, anHTTP, replies)
	}
}

func TestTwoLengthsOfAReplyAreBothNamed(t *testing.T) {
	f := headFields{length: -1}
	err := errors.Join(f.read([]byte("Content-Length: 2")), f.read([]byte("Content-Length: 3")))
	if !errors.Is(err, ErrReply) || !strings.Contains(err.Error(), "two lengths, 2 and 3") {
		t.Error(err)
	}
}

func TestAnHTTPReplyThatEndsWithTheConnection(t *testing.T) {
	p := anHTTP()
	if got, err := read(t, p, "HTTP/1.1 200 OK\r\n\r\nhello", 3); err != nil || len(got) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if o := p.End(&Request{}); o != (Outcome{Done: true, Last: true, Class: 1, Payload: 5}) {
		t.Errorf("%+v", o)
	}
	// A coding other than chunked at the end says that too, whatever the length: RFC 9112, 6.3.
	p = anHTTP()
	if got, err := read(t, p, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: gzip\r\n\r\nhello", 3); err != nil || len(got) > 0 || p.End(&Request{}).Payload != 5 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, cut := range []string{"", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"} {
		p := anHTTP()
		if _, err := read(t, p, cut, 100); err != nil || p.End(&Request{}).Done {
			t.Errorf("%q is complete, or %v", cut, err)
		}
	}
}

// What net/http reads, and the request that it reads.
func TestHTTPRequests(t *testing.T) {
	for _, c := range []struct {
		options           HTTP
		url, method, host string
		header            http.Header
	}{
		{HTTP{}, "http://a:81/x?y=1,2", "GET", "a:81", http.Header{}},
		{HTTP{Headers: []string{"Host: other", "X-A: 1", "x-a:2"}}, "http://a", "GET", "other", http.Header{"X-A": {"1", "2"}}},
		{HTTP{Method: "POST", Body: []byte("body")}, "http://me:secret@a/", "POST", "a", http.Header{"Authorization": {"Basic bWU6c2VjcmV0"}, "Content-Length": {"4"}}},
		{HTTP{Method: "HEAD"}, "http://a/%20", "HEAD", "a", http.Header{}},
	} {
		u, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(c.options.request1(u))))
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		body, _ := io.ReadAll(r.Body)
		if r.Method != c.method || r.Host != c.host || r.RequestURI != u.RequestURI() || !bytes.Equal(body, c.options.Body) || len(r.Header) != len(c.header) {
			t.Errorf("%s: %+v with %q", c.url, r, body)
		}
		for name, values := range c.header {
			if got := r.Header[name]; strings.Join(got, "|") != strings.Join(values, "|") {
				t.Errorf("%s: %s is %q, want %q", c.url, name, got, values)
			}
		}
	}
}

// Whatever comes, the same comes of it in any pieces, and nothing is read twice.
func FuzzHTTPReply(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), uint8(3))
	f.Fuzz(func(t *testing.T, replies []byte, n uint8) { alikeInPieces(t, anHTTP, replies, n) })
}

// alikeInPieces compares what a protocol reads at once with what it reads in pieces.
func alikeInPieces(t *testing.T, make func() Protocol, replies []byte, n uint8) {
	whole, err := read(t, make(), string(replies), 1<<20)
	pieces, err2 := read(t, make(), string(replies), int(n)+1)
	if (err == nil) != (err2 == nil) || len(whole) != len(pieces) {
		t.Fatalf("%q: %+v, %v; in pieces of %d: %+v, %v", replies, whole, err, int(n)+1, pieces, err2)
	}
	for i := range whole {
		if whole[i] != pieces[i] {
			t.Fatalf("%q: reply %d is %+v, in pieces of %d %+v", replies, i, whole[i], int(n)+1, pieces[i])
		}
	}
}
