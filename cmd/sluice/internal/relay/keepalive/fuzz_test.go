package keepalive

import (
	"bufio"
	"bytes"
	"net/http"
	"testing"
	"testing/iotest"
)

// FuzzHeader: whatever comes and in whatever pieces, none of its bytes is lost on the way
// to net/http, and what is served here is one request that net/http reads alike.
func FuzzHeader(f *testing.F) {
	for _, s := range []string{
		request, "GET /m HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\nRange: bytes=1-\r\n\r\n", request + request,
		"GET /m HTTP/1.1\nHost: x\n\n", "GET /m HTTP/1.1\r\nHost: x\r\n folded: 1\r\n\r\n", "POST /m HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
		"GET //m HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "GET /m HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n",
		"GET http://y/m HTTP/1.1\r\nHost: x\r\n\r\n", "\r\n" + request, "GET /m HTTP/1.1\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		if len(p) == 0 {
			return
		}
		in := newInput()
		rest := bytes.NewReader(p[1:])
		in.begin(iotest.HalfReader(rest), p[0])
		head, err := in.header()
		if err != nil && err != errOther {
			if rest.Len() > 0 {
				t.Fatalf("%v with %d bytes left", err, rest.Len())
			}
			return
		}
		if got := len(p) - rest.Len(); !bytes.Equal(head, p[:got]) {
			t.Fatalf("%d bytes were read, and %q is left of them", got, head)
		}
		if err != nil {
			return
		}
		r := in.request(head)
		if !bytes.Equal(head, p) {
			t.Fatalf("parsing has changed the header to %q", head)
		}
		if r == nil || !Plain(r) {
			return
		}
		b := bufio.NewReader(bytes.NewReader(head))
		same, err := http.ReadRequest(b)
		if err != nil || b.Buffered() > 0 {
			t.Fatalf("net/http: %v, %d bytes left", err, b.Buffered())
		}
		if same.Method != r.Method || same.RequestURI != r.RequestURI || same.Host != r.Host || same.URL.String() != r.URL.String() || len(same.Header) != len(r.Header) {
			t.Fatalf("%+v, of net/http %+v", r, same)
		}
		if same.ContentLength != 0 || same.Close || len(same.TransferEncoding) > 0 {
			t.Fatalf("not plain: %+v", same)
		}
	})
}
