package keepalive

import (
	"net/http"
	"strings"
	"testing"
)

// Whatever two readers of HTTP could read in two ways is left to net/http.
func TestScan(t *testing.T) {
	const head = "GET / HTTP/1.1\r\nHost: h\r\n"
	for text, want := range map[string]struct{ whole, plain bool }{
		head + "\r\n":           {true, true},
		head:                    {false, true},
		head + "A: \t~\r\n\r\n": {true, true},
		head + "\r\nG":          {true, false},
		head + "\n":             {false, false},
		head + "A: b\n\r\n":     {false, false},
		head + "A: b\rC: d\r\n": {false, false},
		head + "A: \x7f\r\n":    {false, false},
		head + "A: \x80\r\n":    {false, false},
		head + "A: \x00\r\n":    {false, false},
		head + "A: \x1f\r\n":    {false, false},
		"\r\n":                  {false, true},
		"\r\n\r\n":              {true, true},
		"\n":                    {false, false},
	} {
		if whole, plain := scan([]byte(text), 0); whole != want.whole || plain != want.plain {
			t.Errorf("%q: whole %v, plain %v", text, whole, plain)
		}
	}
}

func TestNames(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	for c := range 256 {
		b := string([]byte{byte(c)})
		if got := token("a" + b); got != strings.Contains(letters+"!#$%&'*+-.^_`|~", b) {
			t.Errorf("a field's name with %q: %v", b, got)
		}
		if got := plainHost("a" + b); got != strings.Contains(letters+".-_:[]", b) {
			t.Errorf("a host with %q: %v", b, got)
		}
	}
	if token("") || plainHost("") {
		t.Error("an empty name")
	}
}

func TestPlain(t *testing.T) {
	plain := func() *http.Request {
		return &http.Request{Method: "GET", Proto: "HTTP/1.1", Header: http.Header{"Connection": {"Keep-Alive"}}}
	}
	if !Plain(plain()) {
		t.Error("GET that keeps its connection")
	}
	for name, change := range map[string]func(*http.Request){
		"POST":              func(r *http.Request) { r.Method = "POST" },
		"HTTP/1.0":          func(r *http.Request) { r.Proto = "HTTP/1.0" },
		"close":             func(r *http.Request) { r.Close = true },
		"a body":            func(r *http.Request) { r.ContentLength = 1 },
		"an unknown body":   func(r *http.Request) { r.ContentLength = -1 },
		"chunks":            func(r *http.Request) { r.TransferEncoding = []string{"chunked"} },
		"Content-Length":    func(r *http.Request) { r.Header.Set("Content-Length", "0") },
		"Transfer-Encoding": func(r *http.Request) { r.Header.Set("Transfer-Encoding", "identity") },
		"Expect":            func(r *http.Request) { r.Header.Set("Expect", "100-continue") },
		"Trailer":           func(r *http.Request) { r.Header.Set("Trailer", "A") },
		"Upgrade":           func(r *http.Request) { r.Header.Set("Upgrade", "websocket") },
		"Connection":        func(r *http.Request) { r.Header.Add("Connection", "Host") },
	} {
		r := plain()
		if change(r); Plain(r) {
			t.Errorf("%s is served here", name)
		}
	}
}
