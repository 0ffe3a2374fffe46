package abuse

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// A browser is a client that speaks HTTP/1.1 as the case wants it.
type browser struct {
	*try
	in *bufio.Reader
}

// httpCase is a case of one connection. send returns the method that it used last.
func httpCase(title, clause string, want Expectation, send func(*browser)) Case {
	return Case{Title: title, Clause: clause, Expect: want, run: func(t *try) result {
		if !t.open() {
			return silent
		}
		b := newBrowser(t)
		send(b)
		return b.outcome()
	}}
}

// path returns that of a stream.
func (t *try) path(stream string) string { return "/" + t.target.app + "/" + stream + ".flv" }

// head is the head of a request: lines without their ends, Host among them.
func (b *browser) head(method, path string, lines ...string) []byte {
	return []byte(method + " " + path + " HTTP/1.1\r\nHost: " + b.target.host + "\r\n" +
		strings.Join(slices.Concat(lines, []string{"", ""}), "\r\n"))
}

// post is the head of a request that publishes in chunks.
func (b *browser) post(lines ...string) []byte {
	return b.head("POST", b.path(b.stream), append(lines, "Content-Type: video/x-flv")...)
}

// outcome reads answers until one is final, or the connection ends.
func (b *browser) outcome() result {
	r, err := http.ReadResponse(b.in, nil)
	for err == nil && r.StatusCode < 200 && r.StatusCode != http.StatusSwitchingProtocols {
		r, err = http.ReadResponse(b.in, nil)
	}
	if err != nil {
		return closedBy(err)
	}
	defer func() { _ = r.Body.Close() }()
	b.note = r.Status
	if r.StatusCode >= 400 {
		return refused
	}
	return served
}

// piece is one chunk of a chunked body.
func piece(p []byte) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n", len(p), p) }

// flvHead is an FLV header and the size before the first tag.
func flvHead() []byte { return []byte{'F', 'L', 'V', 1, 5, 0, 0, 0, 9, 0, 0, 0, 0} }

// flvTag is a tag and the size behind it.
func flvTag(typ byte, ms uint32, body []byte) []byte {
	n := len(body)
	b := []byte{typ, byte(n >> 16), byte(n >> 8), byte(n), byte(ms >> 16), byte(ms >> 8), byte(ms), byte(ms >> 24), 0, 0, 0}
	return append(append(b, body...), be32(uint32(n+11))...)
}

// reads reads what comes until it has n bytes or the connection ends.
func (b *browser) reads(n int64) { _, _ = io.CopyN(io.Discard, b.in, n) }

// repeat is n times s.
func repeat(s string, n int) []byte { return bytes.Repeat([]byte(s), n) }

func newBrowser(t *try) *browser { return &browser{try: t, in: bufio.NewReader(t.conn)} }

// frame reads one WebSocket frame from the server, and returns its first byte and the
// length of its payload, which is dropped.
func (b *browser) frame(head []byte) (first byte, n uint64, err error) {
	if _, err = io.ReadFull(b.in, head[:2]); err != nil {
		return 0, 0, err
	}
	first, n = head[0], uint64(head[1]&0x7F)
	more := map[uint64]int{126: 2, 127: 8}[n]
	if more > 0 {
		if _, err = io.ReadFull(b.in, head[2:2+more]); err != nil {
			return 0, 0, err
		}
		n = 0
		for _, c := range head[2 : 2+more] {
			n = n<<8 | uint64(c)
		}
	}
	if n > 1<<30 {
		return 0, 0, fmt.Errorf("abuse: a frame of %d bytes", n)
	}
	_, err = io.CopyN(io.Discard, b.in, int64(n))
	return first, n, err
}

// http adds a case of one connection.
func (s *section) http(title string, want Expectation, send func(*browser)) {
	s.cases = append(s.cases, httpCase(title, s.clause, want, send))
}

// httpLate adds one that a time limit of the server has to end.
func (s *section) httpLate(title string, want Expectation, send func(*browser)) {
	s.cases = append(s.cases, late(httpCase(title, s.clause, want, send)))
}
