package abuse

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// requests are the cases of HTTP itself.
func requests() []Case {
	return slices.Concat(requestLines(), requestBodies(), ranges(), partialRequests())
}

// request adds a case of these bytes, in which HOST stands for the server's.
func (s *section) request(title string, want Expectation, p ...string) {
	s.http(title, want, func(b *browser) {
		b.send([]byte(strings.ReplaceAll(strings.Join(p, ""), "HOST", b.target.host)))
	})
}

// requestLines are first lines and headers.
func requestLines() []Case {
	s := section{clause: "RFC 9112, 3"}
	const end = "\r\nHost: HOST\r\n\r\n"
	s.request("noise", Refused, strings.Repeat("\x00\xFF\xA5", 4000), "\r\n\r\n")
	s.request("an unknown method", Refused, "BREW /live/x.flv HTTP/1.1", end)
	s.request("TRACE", Refused, "TRACE /live/x.flv HTTP/1.1", end)
	s.request("CONNECT", Refused, "CONNECT 192.0.2.1:80 HTTP/1.1", end)
	s.request("DELETE of a stream's address", Refused, "DELETE /live/x.flv HTTP/1.1", end)
	s.request("HTTP/0.9", Refused, "GET /\r\n\r\n")
	s.request("HTTP/3.7", Refused, "GET / HTTP/3.7", end)
	s.request("the preface of HTTP/2", Harmless, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	s.request("a request without Host", Refused, "GET /live/x.flv HTTP/1.1\r\n\r\n")
	s.request("two Hosts", Refused, "GET /live/x.flv HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
	s.request("a path that climbs", Refused, "GET /../../../../etc/passwd HTTP/1.1", end)
	s.request("a path that climbs in per cent", Refused, "GET /live/%2e%2e%2f%2e%2e%2fetc%2fpasswd HTTP/1.1", end)
	s.request("a path with %00", Refused, "GET /live/x%00.flv HTTP/1.1", end)
	s.request("a path with a broken per cent", Refused, "GET /live/%zz.flv HTTP/1.1", end)
	s.request("an absolute address of another server", Harmless, "GET http://192.0.2.1/ HTTP/1.1", end)
	s.request("a query of 60 KB", Harmless, "GET /live/none.flv?", strings.Repeat("a=b&", 15_000), " HTTP/1.1", end)
	s.request("a header line of 4 MB", Refused, "GET / HTTP/1.1\r\nHost: HOST\r\nX: ", strings.Repeat("x", 4<<20), "\r\n\r\n")
	s.request("100,000 header lines", Refused, "GET / HTTP/1.1\r\nHost: HOST\r\n", strings.Repeat("X-Line: value-of-some-length\r\n", 100_000), "\r\n")
	s.request("a zero byte in a header", Refused, "GET / HTTP/1.1\r\nHost: HOST\r\nX: a\x00b\r\n\r\n")
	s.request("a space before a header's colon", Refused, "GET / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding : chunked\r\n\r\n")
	s.request("a stream that is not there", Refused, "GET /live/no-such-stream-at-all.flv HTTP/1.1", end)
	return s.cases
}

// requestBodies are what says how long a body is.
func requestBodies() []Case {
	s := section{clause: "RFC 9112, 6"}
	s.request("two lengths that differ", Refused, "POST /live/x.flv HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!")
	s.request("a length and chunks", Refused, "POST /live/x.flv HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
	s.request("a negative length", Refused, "POST /live/x.flv HTTP/1.1\r\nHost: HOST\r\nContent-Length: -1\r\n\r\n")
	s.request("a length of 2^64", Refused, "POST /live/x.flv HTTP/1.1\r\nHost: HOST\r\nContent-Length: 18446744073709551616\r\n\r\n")
	s.request("a length with a sign", Refused, "POST /live/x.flv HTTP/1.1\r\nHost: HOST\r\nContent-Length: +5\r\n\r\nhello")
	s.request("an unknown transfer coding", Refused, "POST /live/x.flv HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")
	s.request("an unknown expectation", Harmless, "POST /live/x.flv HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\nExpect: the-unexpected\r\n\r\n")
	return s.cases
}

// ranges are parts of a stream, which has none.
func ranges() []Case {
	s := section{clause: "RFC 9110, 14"}
	s.http("a Range of a live stream", Served, func(b *browser) {
		b.send(b.head("GET", b.path(b.guard), "Range: bytes=0-0"))
	})
	s.http("10,000 ranges of a live stream", Harmless, func(b *browser) {
		b.send(b.head("GET", b.path(b.guard), "Range: bytes="+strings.TrimSuffix(strings.Repeat("0-0,", 10_000), ",")))
	})
	s.http("HEAD of a live stream", Served, func(b *browser) { b.send(b.head("HEAD", b.path(b.guard))) })
	return s.cases
}

// partialRequests are many at once, and such as do not end.
func partialRequests() []Case {
	s := section{clause: "RFC 9112, 9"}
	s.http("100 requests at once on one connection", Harmless, func(b *browser) {
		b.send(repeat(string(b.head("GET", "/no-such-page-"+b.stream)), 100))
	})
	for i, part := range []string{"GE", "GET /live/x.flv HTTP/1.1\r\n", "GET /live/x.flv HTTP/1.1\r\nHost: a\r\nX: "} {
		where := []string{"the method", "the first line", "a header"}[i]
		s.http("the end inside or after "+where, Refused, func(b *browser) { b.send([]byte(part)); b.finish() })
		s.httpLate("nothing more after a part of "+where, Refused, func(b *browser) { b.send([]byte(part)) })
	}
	s.httpLate("nothing at all", Closed, func(*browser) {})
	s.httpLate("a header line a second, for ever", Refused, func(b *browser) {
		b.send([]byte("GET / HTTP/1.1\r\nHost: a\r\n"))
		for i := range 1000 {
			if _, err := fmt.Fprintf(b.conn, "X-%d: y\r\n", i); err != nil {
				return
			}
			select {
			case <-time.After(time.Second):
			case <-b.ctx.Done():
				return
			}
		}
	})
	return s.cases
}
