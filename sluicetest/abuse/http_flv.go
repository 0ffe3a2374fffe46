package abuse

import (
	"bytes"
	"slices"
	"time"
)

// bodies are the cases of FLV that is published by HTTP, and of viewers.
func bodies() []Case {
	return slices.Concat(flvHeaders(), flvSizes(), flvTags(), chunkedBodies(), publishers(), viewers())
}

// flvPicture is a tag of a small key frame.
func flvPicture() []byte { return flvTag(9, 0, append([]byte{0x17, 1, 0, 0, 0}, zeros(40)...)) }

// flv adds a case that publishes these bytes in one chunk, and then ends the connection's
// writing.
func (s *section) flv(title string, want Expectation, parts ...[]byte) {
	s.http(title, want, func(b *browser) {
		b.send(b.post("Transfer-Encoding: chunked"), piece(join(parts...)), []byte("0\r\n\r\n"))
		b.finish()
	})
}

// flvHeaders are bodies that do not begin as FLV does.
func flvHeaders() []Case {
	s := section{clause: "FLV, E.2"}
	picture := flvPicture()
	s.flv("an empty body", Harmless)
	s.flv("a body that is not FLV", Refused, []byte("<html>this is not FLV at all</html>"))
	s.flv("a signature of two letters", Refused, []byte("FL"))
	s.flv("FLV version 9", Harmless, []byte{'F', 'L', 'V', 9, 5, 0, 0, 0, 9, 0, 0, 0, 0}, picture)
	s.flv("a header that says 4 GiB", Refused, []byte{'F', 'L', 'V', 1, 5, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0}, picture)
	s.flv("a header that says 0 bytes", Refused, []byte{'F', 'L', 'V', 1, 5, 0, 0, 0, 0, 0, 0, 0, 0}, picture)
	s.flv("a header with reserved bits", Harmless, []byte{'F', 'L', 'V', 1, 0xFF, 0, 0, 0, 9, 0, 0, 0, 0}, picture)
	s.flv("a header alone", Harmless, flvHead())
	s.flv("a second header between tags", Harmless, flvHead(), picture, flvHead(), picture)
	return s.cases
}

// flvSizes are wrong sizes behind tags.
func flvSizes() []Case {
	s := section{clause: "FLV, E.3"}
	picture := flvPicture()
	s.flv("a first size that is not 0", Harmless, flvHead()[:9], be32(99), picture)
	s.flv("a wrong size behind a tag", Harmless, flvHead(), picture[:len(picture)-4], be32(5), picture)
	s.flv("a size of 2^32 - 1 behind a tag", Harmless, flvHead(), picture[:len(picture)-4], be32(1<<32-1), picture)
	return s.cases
}

// flvTags are tags that end early, or hold what nothing knows.
func flvTags() []Case {
	s := section{clause: "FLV, E.4.1"}
	picture := flvPicture()
	s.flv("a tag that ends in its header", Harmless, flvHead(), picture[:5])
	s.flv("a tag that ends in its body", Harmless, flvHead(), picture[:30])
	s.flv("a tag that ends in the size behind it", Harmless, flvHead(), picture[:len(picture)-2])
	s.flv("a tag of the unknown type 0", Harmless, flvHead(), flvTag(0, 0, zeros(10)), picture)
	s.flv("a tag of the unknown type 31", Harmless, flvHead(), flvTag(31, 0, zeros(10)), picture)
	s.flv("an encrypted tag", Harmless, flvHead(), flvTag(9|0x20, 0, zeros(40)), picture)
	s.flv("a tag with the stream id 99", Harmless, flvHead(), append(append(picture[:8:8], 0, 0, 99), picture[11:]...), picture)
	s.flv("a tag that says 16 MB and has 40 bytes", Harmless, flvHead(), []byte{9, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0}, zeros(40))
	s.flv("10,000 tags of length 0", Harmless, flvHead(), bytes.Repeat(flvTag(9, 0, nil), 10_000))
	s.flv("10,000 tags of script noise", Harmless, flvHead(), bytes.Repeat(flvTag(18, 0, []byte{2, 0xFF, 0xFF, 1}), 10_000))
	s.flv("a script of 5,000 objects in each other", Harmless, flvHead(), flvTag(18, 0, append(short("onMetaData"), bytes.Repeat([]byte{markObject, 0, 1, 'a'}, 5000)...)), picture)
	s.flv("times that go back by an hour", Harmless, flvHead(), flvTag(9, 3_600_000, picture[11:56]), flvTag(9, 0, picture[11:56]))
	s.flv("times with the first bit set", Harmless, flvHead(), flvTag(9, 1<<31, picture[11:56]), flvTag(9, 1<<32-1, picture[11:56]))
	return s.cases
}

// chunk adds a case that sends p between two chunks of a body.
func (s *section) chunk(title string, want Expectation, p string) {
	s.http(title, want, func(b *browser) {
		b.send(b.post("Transfer-Encoding: chunked"), piece(flvHead()), []byte(p), piece(flvPicture()))
		b.finish()
	})
}

// chunkedBodies are chunks that cannot be, and bodies that are not as long as they say.
func chunkedBodies() []Case {
	s := section{clause: "RFC 9112, 7.1"}
	picture := flvPicture()
	s.chunk("a chunk's size that is no number", Refused, "zz\r\n")
	s.chunk("a chunk's size with a sign", Refused, "-5\r\nhello\r\n")
	s.chunk("a chunk of 2^64 bytes", Refused, "10000000000000000\r\n")
	s.chunk("a chunk of 2^63 bytes", Refused, "8000000000000000\r\nhello")
	s.chunk("a chunk without the line's end behind it", Refused, "5\r\nhelloWORLD\r\n")
	s.chunk("an extension of 100 KB behind a chunk's size", Refused, "5;"+string(repeat("x", 100_000))+"\r\nhello\r\n")
	s.chunk("chunks' sizes with 100 zeros in front", Harmless, string(repeat("0", 100))+"5\r\nhello\r\n")
	s.http("chunks of 1 byte", Harmless, func(b *browser) {
		b.send(b.post("Transfer-Encoding: chunked"))
		for _, c := range join(flvHead(), picture) {
			b.send(piece([]byte{c}))
		}
		b.send([]byte("0\r\n\r\n"))
		b.finish()
	})
	s.http("trailers of 100 KB", Harmless, func(b *browser) {
		b.send(b.post("Transfer-Encoding: chunked"), piece(join(flvHead(), picture)), []byte("0\r\n"), repeat("X: y\r\n", 20_000), []byte("\r\n"))
		b.finish()
	})
	s.http("fewer bytes than the length says", Harmless, func(b *browser) {
		b.send(b.post("Content-Length: 1000000"), flvHead(), picture)
		b.finish()
	})
	s.http("more bytes than the length says", Harmless, func(b *browser) {
		b.send(b.post("Content-Length: 13"), flvHead(), bytes.Repeat(picture, 100))
		b.finish()
	})
	return s.cases
}

// ownRules is the clause of what no specification says.
const ownRules = "the server's own rules"

// quiet adds a case that publishes parts, a chunk each, and then sends nothing more.
func (s *section) quiet(title string, parts ...[]byte) {
	s.httpLate(title, Refused, func(b *browser) {
		b.send(b.post("Transfer-Encoding: chunked"))
		for _, p := range parts {
			b.send(piece(p))
		}
	})
}

// publishers publish what is not theirs, or stop.
func publishers() []Case {
	s := section{clause: ownRules}
	picture := flvPicture()
	s.http("publishing another's stream", Refused, func(b *browser) {
		b.send(b.head("POST", b.path(b.guard), "Transfer-Encoding: chunked"), piece(join(flvHead(), picture)))
	})
	s.http("publishing with a form of another site", Harmless, func(b *browser) {
		b.send(b.head("POST", b.path(b.stream), "Origin: http://elsewhere.example", "Content-Type: text/plain", "Transfer-Encoding: chunked"), piece(join(flvHead(), picture)))
		b.finish()
	})
	s.quiet("no byte of the body comes")
	s.quiet("the body stops in the header", flvHead()[:5])
	s.quiet("the body stops between tags", flvHead(), picture)
	s.quiet("the body stops in a tag", flvHead(), picture[:20])
	s.httpLate("a byte of a long tag a second", Refused, func(b *browser) {
		b.send(b.post("Content-Length: 1000000"), flvHead(), []byte{9, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0})
		b.drip(zeros(1000), time.Second)
	})
	return s.cases
}

// viewers leave in the middle.
func viewers() []Case {
	return []Case{
		{Title: "a viewer who never reads and leaves", Clause: ownRules, Expect: Served, run: func(t *try) result {
			return viewAfter(t, func(b *browser) { <-time.After(3 * time.Second) })
		}},
		{Title: "a viewer who reads 100 bytes and leaves", Clause: ownRules, Expect: Served, run: func(t *try) result {
			return viewAfter(t, func(b *browser) { b.reads(100) })
		}},
		{Title: "200 viewers who come and leave at once", Clause: ownRules, Expect: Served, run: func(t *try) result {
			for range 200 {
				if !t.open() {
					return silent
				}
				b := &browser{try: t}
				b.send(b.head("GET", b.path(b.guard)))
			}
			return viewAfter(t, func(*browser) {})
		}},
	}
}

// viewAfter lets a viewer of the healthy stream leave after some time, and then
// judges how the next is served.
func viewAfter(t *try, stay func(*browser)) result {
	for i := range 2 {
		if !t.open() {
			return silent
		}
		b := newBrowser(t)
		b.send(b.head("GET", b.path(b.guard)))
		if i == 1 {
			return b.outcome()
		}
		stay(b)
	}
	return silent
}
