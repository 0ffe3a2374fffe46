package wire

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// HTTP says what the requests to http and https targets are. All are the same.
type HTTP struct {
	Method  string   `json:"method,omitempty"`  // GET if it is empty
	Headers []string `json:"headers,omitempty"` // "Name: value"
	Body    []byte   `json:"body,omitempty"`
	Two     bool     `json:"two,omitempty"` // HTTP/2: h2 over TLS, by prior knowledge without
}

// statusClasses are those of HTTP replies, and which of them are failures.
var statusClasses = []Class{{"1xx", false}, {"2xx", false}, {"3xx", false}, {"4xx", true}, {"5xx", true}}

func (h *HTTP) method() string {
	if h.Method == "" {
		return http.MethodGet
	}
	return h.Method
}

func (h *HTTP) check() error {
	if strings.ContainsAny(h.Method, " \t\r\n/:") {
		return fmt.Errorf("invalid method %q", h.Method)
	}
	for _, line := range h.Headers {
		name, _, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") || strings.ContainsAny(line, "\r\n") {
			return fmt.Errorf("invalid header %q: it is like \"Name: value\"", line)
		}
		if strings.EqualFold(name, "Content-Length") || strings.EqualFold(name, "Transfer-Encoding") {
			return fmt.Errorf("header %s follows from the body and cannot be set", name)
		}
	}
	return nil
}

// header returns the headers of a request to u, without Host and Content-Length.
func (h *HTTP) header(u *url.URL) (header http.Header, host string) {
	header, host = http.Header{}, u.Host
	for _, line := range h.Headers {
		name, value, _ := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); strings.EqualFold(name, "Host") {
			host = value
			continue
		}
		header.Add(name, value)
	}
	if u.User != nil && header.Get("Authorization") == "" {
		password, _ := u.User.Password()
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)))
	}
	return header, host
}

func (h *HTTP) request1(u *url.URL) []byte {
	var b bytes.Buffer
	header, host := h.header(u)
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", h.method(), u.RequestURI(), host)
	if len(h.Body) > 0 || h.method() == http.MethodPost || h.method() == http.MethodPut {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(h.Body))
	}
	header.Write(&b) // a bytes.Buffer takes everything
	b.WriteString("\r\n")
	b.Write(h.Body)
	return b.Bytes()
}

// A same is one request again and again.
type same []byte

func (s same) Len(*Request) int                 { return len(s) }
func (s same) Bytes(_ *Request, off int) []byte { return s[off:] }
