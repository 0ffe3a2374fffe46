package keepalive

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
)

// errOther: what has come is no plain header, or more than one.
var errOther = errors.New("keepalive: a request for net/http")

// longestHeader is the longest header that is read here, in bytes. It is the size of the
// buffer of net/http, so that it reads at once what comes back.
const longestHeader = 4 << 10

// An input reads one header after the other, of different connections.
type input struct {
	reader *bufio.Reader
	conn   io.Reader // nil: nothing may be read any more
	first  []byte    // read already
	store  [1]byte
	head   []byte // a copy, since parsing changes field names where they lie
}

func newInput() *input {
	in := &input{}
	in.reader = bufio.NewReaderSize(in, longestHeader)
	return in
}

// begin makes the input that of a connection, whose first byte was read.
func (in *input) begin(conn io.Reader, first byte) {
	in.store[0] = first
	in.first, in.conn = in.store[:], conn
	in.reader.Reset(in)
}

func (in *input) end() { in.conn = nil }

// Read implements io.Reader, for the buffer.
func (in *input) Read(p []byte) (int, error) {
	if len(in.first) > 0 {
		n := copy(p, in.first)
		in.first = in.first[n:]
		return n, nil
	}
	if in.conn == nil {
		return 0, io.EOF
	}
	return in.conn.Read(p)
}

// header reads a header to its end, and returns it as it came, borrowed until end. With
// errOther it returns all that was read.
func (in *input) header() ([]byte, error) {
	for looked := 0; ; {
		if _, err := in.reader.Peek(looked + 1); err != nil {
			return nil, err
		}
		p, _ := in.reader.Peek(in.reader.Buffered())
		whole, plain := scan(p, looked)
		if looked = len(p); plain && !whole && looked < longestHeader {
			continue
		}
		in.head = append(in.head[:0], p...)
		if !plain || !whole {
			return in.head, errOther
		}
		in.conn = nil
		return in.head, nil
	}
}

// scan looks at p from an index on, where an earlier call has ended. It reports whether p
// is a whole header. plain is false when it never will be: there are bytes behind the end,
// lines end with LF alone, or there are bytes that are neither printable ASCII nor tabs.
func scan(p []byte, from int) (whole, plain bool) {
	for i := from; i < len(p); i++ {
		switch b := p[i]; {
		case b == '\n':
			if i == 0 || p[i-1] != '\r' {
				return false, false
			}
			if i >= 3 && p[i-2] == '\n' {
				return true, i == len(p)-1
			}
		case i > 0 && p[i-1] == '\r':
			return false, false
		case b == '\r' || b == '\t' || b >= ' ' && b < 0x7f:
		default:
			return false, false
		}
	}
	return false, true
}

var hostColon = []byte("host:")

// request parses a header, and returns nil if that is not right in every respect.
func (in *input) request(head []byte) *http.Request {
	r, err := http.ReadRequest(in.reader)
	if err != nil || in.reader.Buffered() > 0 {
		return nil
	}
	hosts := 0
	for line := range bytes.Lines(head) {
		if len(line) > 5 && bytes.EqualFold(line[:5], hostColon) {
			hosts++
		}
		if line[0] == ' ' || line[0] == '\t' {
			return nil // a folded line
		}
	}
	if hosts != 1 || !plainHost(r.Host) || r.RequestURI[0] != '/' {
		return nil
	}
	for name := range r.Header {
		if !token(name) {
			return nil
		}
	}
	return r
}

// plainHost reports whether a host is written as usual, perhaps with a port.
func plainHost(host string) bool {
	for _, b := range []byte(host) {
		if !letter(b) && strings.IndexByte(".-_:[]", b) < 0 {
			return false
		}
	}
	return host != ""
}

// token reports whether a name is one of a field (RFC 9110, section 5.6.2).
func token(name string) bool {
	for _, b := range []byte(name) {
		if !letter(b) && strings.IndexByte("!#$%&'*+-.^_`|~", b) < 0 {
			return false
		}
	}
	return name != ""
}

// letter reports whether b is a letter or a digit of ASCII.
func letter(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

// Plain reports whether a request is of the kind that is served here: GET or HEAD by
// HTTP/1.1 without a body, on a connection that stays open.
func Plain(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || r.Proto != "HTTP/1.1" || r.Close || r.ContentLength != 0 || len(r.TransferEncoding) > 0 {
		return false
	}
	for _, name := range []string{"Content-Length", "Transfer-Encoding", "Expect", "Trailer", "Upgrade"} {
		if len(r.Header[name]) > 0 {
			return false
		}
	}
	for _, value := range r.Header["Connection"] {
		if !strings.EqualFold(value, "keep-alive") {
			return false
		}
	}
	return true
}
