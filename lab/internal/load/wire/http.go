package wire

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// HTTP says what the requests to http and https targets are. All are the same.
type HTTP struct {
	Method  string   `json:"method,omitempty"`  // GET if it is empty
	Headers []string `json:"headers,omitempty"` // "Name: value"
	Body    []byte   `json:"body,omitempty"`
	// BodyDigest stands in results instead of the Body.
	BodyDigest *Digest `json:"body_digest,omitempty"`
	Two        bool    `json:"two,omitempty"` // HTTP/2: h2 over TLS, by prior knowledge without
}

var statusClasses = []Class{{"1xx", false}, {"2xx", false}, {"3xx", false}, {"4xx", true}, {"5xx", true}, {"reset", true}}

// streamReset is the class of requests whose stream the target has reset (RST_STREAM), with HTTP/2.
const streamReset = 5

func (h *HTTP) method() string { return cmp.Or(h.Method, http.MethodGet) }

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
		(&http.Request{Header: header}).SetBasicAuth(u.User.Username(), password)
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

type same []byte

func (s same) Len(*Request) int                 { return len(s) }
func (s same) Bytes(_ *Request, off int) []byte { return s[off:] }

// An http1 is HTTP/1.1: see RFC 9112. Its lines may end with a bare LF, too: 2.2.
type http1 struct {
	same
	bare bool // replies have no body: the method is HEAD

	state  httpState
	line   pieces
	head   int // bytes of lines other than chunks' in this reply
	fields headFields
	left   int64 // of the body or chunk
	said   bool  // a failing reply has said why
	reply  Outcome
}

type httpState uint8

const (
	inStatus   httpState = iota // the first line
	inFields                    // of the head, up to an empty line
	inBody                      // of a known length
	untilEnd                    // a body that ends with the connection
	inChunkLen                  // a line
	inChunk
	inChunkEnd // the empty line after a chunk
	inTrailer
	replied
)

func (h *http1) Reply(_ *Request, p []byte) (n int, o Outcome, err error) {
	for n < len(p) && h.state != replied {
		used, err := h.step(p[n:])
		if n += used; err != nil {
			return n, Outcome{}, err
		}
	}
	if h.state != replied {
		return n, Outcome{}, nil
	}
	return n, h.finish(), nil
}

func (h *http1) End(*Request) Outcome {
	if h.state != untilEnd {
		return Outcome{}
	}
	return h.finish()
}

// Pushed knows the reply to no request by which proxies end an idle connection: status 408, RFC 9110, 15.5.9.
func (h *http1) Pushed(p []byte) (int, error) {
	if status, ok := bytes.CutPrefix(p, []byte("HTTP/1.")); ok && len(status) > 5 && string(status[1:5]) == " 408" {
		return 0, ErrIdle
	}
	return 0, nil
}

func (h *http1) finish() Outcome {
	o := h.reply
	o.Done = true
	h.state, h.head, h.reply = inStatus, 0, Outcome{}
	return o
}

func (h *http1) step(p []byte) (n int, err error) {
	switch h.state {
	case inBody, inChunk:
		n = int(min(int64(len(p)), h.left))
		h.reply.Payload += n
		if h.left -= int64(n); h.left == 0 && h.state == inBody {
			h.state = replied
		} else if h.left == 0 {
			h.state = inChunkEnd
		}
		return n, nil
	case untilEnd:
		h.reply.Payload += len(p)
		return len(p), nil
	}
	line, n, err := h.line.read(p)
	if h.state <= inFields || h.state == inTrailer {
		if h.head += n; h.head > mostLine {
			return n, fmt.Errorf("%w: a head of more than %d bytes", ErrReply, mostLine)
		}
	}
	if line == nil {
		return n, err
	}
	line = bytes.TrimSuffix(line, []byte("\r"))
	switch h.state {
	case inStatus:
		err = h.status(line)
	case inFields:
		if len(line) > 0 {
			err = h.fields.read(line)
		} else {
			h.body()
		}
	case inChunkLen:
		err = h.chunk(line)
	case inChunkEnd:
		if h.state = inChunkLen; len(line) > 0 {
			err = fmt.Errorf("%w: a chunk is longer than it says", ErrReply)
		}
	case inTrailer:
		if len(line) == 0 {
			h.state = replied
		}
	}
	return n, err
}

// chunk reads the line before a chunk: its length in hexadecimal, and extensions.
func (h *http1) chunk(line []byte) error {
	digits, _, _ := bytes.Cut(line, []byte(";"))
	n, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 62)
	if err != nil {
		return fmt.Errorf("%w: %.40q is not the length of a chunk", ErrReply, line)
	}
	if h.left, h.state = int64(n), inChunk; n == 0 {
		h.state = inTrailer
	}
	return nil
}

func (h *http1) status(line []byte) error {
	const least = len("HTTP/1.1 200")
	if len(line) < least || string(line[:7]) != "HTTP/1." || line[8] != ' ' {
		return fmt.Errorf("%w: %.40q is not the status line of HTTP/1.1", ErrReply, line)
	}
	status, err := strconv.Atoi(string(line[9:least]))
	if err != nil || status < 100 || status > 599 {
		return fmt.Errorf("%w: %.40q has no status", ErrReply, line)
	}
	if status == http.StatusSwitchingProtocols {
		return fmt.Errorf("%w: status 101, to another protocol", ErrReply)
	}
	h.state, h.fields = inFields, headFields{status: status, length: -1, last: line[7] == '0'}
	if statusClasses[status/100-1].Failed && !h.said {
		h.said, h.fields.says = true, string(bytes.TrimSpace(line[9:]))
	}
	return nil
}

// body decides, behind the head of a reply, where the reply ends: RFC 9112, 6.3.
func (h *http1) body() {
	f := &h.fields
	h.reply = Outcome{Class: f.status/100 - 1, Last: f.last, Says: f.says}
	switch {
	case f.status < 200:
		h.state = inStatus // the reply itself is still to come
	case h.bare || f.status == http.StatusNoContent || f.status == http.StatusNotModified:
		h.state = replied
	case f.chunked:
		h.state = inChunkLen
	case f.length == 0 && !f.coded:
		h.state = replied
	case f.length > 0 && !f.coded:
		h.state, h.left = inBody, f.length
	default:
		h.state, h.reply.Last = untilEnd, true
	}
}

type headFields struct {
	status  int
	length  int64 // -1 without one
	coded   bool  // there is a transfer coding, which counts instead of a length
	chunked bool  // the last one is chunked
	last    bool
	says    string // the status of the first failing reply
}

func (f *headFields) read(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	// By length first: few fields have to be compared.
	switch len(name) {
	case len("Connection"):
		if bytes.EqualFold(name, []byte("Connection")) {
			value = bytes.ToLower(value)
			f.last = bytes.Contains(value, []byte("close")) || f.last && !bytes.Contains(value, []byte("keep-alive"))
		}
	case len("Content-Length"):
		if bytes.EqualFold(name, []byte("Content-Length")) {
			for value := range bytes.SplitSeq(value, []byte(",")) { // the same may stand there several times: RFC 9110, 8.6
				n, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 62)
				if err != nil {
					return fmt.Errorf("%w: the length %.40q", ErrReply, bytes.TrimSpace(value))
				}
				if f.length >= 0 && f.length != int64(n) {
					return fmt.Errorf("%w: two lengths, %d and %d", ErrReply, f.length, n)
				}
				f.length = int64(n)
			}
		}
	case len("Transfer-Encoding"):
		if bytes.EqualFold(name, []byte("Transfer-Encoding")) {
			f.coded, f.chunked = true, bytes.HasSuffix(bytes.ToLower(bytes.TrimSpace(value)), []byte("chunked"))
		}
	}
	return nil
}
