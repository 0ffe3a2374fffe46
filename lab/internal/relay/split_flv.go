package relay

import (
	"bytes"
	"fmt"
	"strings"
)

// flvSplit splits an HTTP response whose body is FLV.
type flvSplit struct {
	stash
	look bool // at the payload of media
	// head is the header of the response as far as it has come; nil once the
	// body has begun.
	head   []byte
	body   bool
	file   bool // the FLV header has passed
	left   int  // of the tag under way, with its trailer
	within int  // of its payload
	media  bool
	note   []byte
	kind   uint8
}

func newFLVSplit() *flvSplit { return &flvSplit{} }

func (f *flvSplit) feed(p []byte, to sink) error {
	tag := func(b []byte) (int, error) { return f.tag(b, to) }
	for len(p) > 0 {
		switch {
		case !f.body:
			n, err := f.response(p)
			if err != nil {
				return err
			}
			p = p[n:]
		case f.left > 0:
			n := min(f.left, len(p))
			if err := f.pass(p[:n], to); err != nil {
				return err
			}
			p = p[n:]
		default:
			used, _, err := f.take(p, tag)
			if err != nil {
				return err
			}
			p = p[used:]
		}
	}
	return nil
}

// mostHead is the longest header of a response.
const mostHead = 8 << 10

// response takes the header of the response, and returns how much of p it was.
func (f *flvSplit) response(p []byte) (int, error) {
	had := len(f.head)
	f.head = append(f.head, p[:min(len(p), mostHead-had)]...)
	end := bytes.Index(f.head, []byte("\r\n\r\n"))
	if end < 0 {
		if len(f.head) == mostHead {
			return 0, fmt.Errorf("%w: a header of more than %d bytes", ErrStream, mostHead)
		}
		return len(p), nil
	}
	text := string(f.head[:end])
	status, _, _ := strings.Cut(text, "\r\n")
	if !strings.HasPrefix(status, "HTTP/1.1 200") && !strings.HasPrefix(status, "HTTP/1.0 200") {
		return 0, fmt.Errorf("%w: the server answers %.80q", ErrStream, status)
	}
	if strings.Contains(strings.ToLower(text), "chunked") {
		return 0, fmt.Errorf("%w: the body is chunked, which a light viewer does not take apart", ErrStream)
	}
	f.head, f.body = nil, true
	return end + 4 - had, nil
}

// tag parses the header of a tag, of media with two bytes of the payload, and
// first of all that of the file.
func (f *flvSplit) tag(b []byte, to sink) (int, error) {
	if !f.file {
		if len(b) < len(flvStart) {
			return 0, nil
		}
		if string(b[:3]) != "FLV" || b[8] != flvHeader {
			return 0, fmt.Errorf("%w: the body begins with %.13q", ErrStream, b)
		}
		f.file = true
		return len(flvStart), nil
	}
	if len(b) < tagHeader {
		return 0, nil
	}
	kind, size, time := b[0], int(be24(b[1:])), be24(b[4:])|uint32(b[7])<<24
	f.media = isMedia(kind) && size >= 2
	n := tagHeader
	if f.media {
		if n += 2; len(b) < n {
			return 0, nil
		}
	}
	f.kind, f.left, f.within, f.note = kind, size+tagTrailer, size, f.note[:0]
	if !f.media {
		if size > mostNoted {
			return 0, fmt.Errorf("%w: a tag of kind %d with %d bytes", ErrStream, kind, size)
		}
		return n, nil
	}
	if err := to.started(kind, time, size, b[tagHeader], b[tagHeader+1]); err != nil {
		return 0, err
	}
	return n, f.pass(b[tagHeader:n], to)
}

// pass takes payload of the tag under way, and its trailer.
func (f *flvSplit) pass(p []byte, to sink) error {
	payload := p[:min(len(p), f.within)]
	f.within -= len(payload)
	f.left -= len(p)
	if !f.media {
		f.note = append(f.note, payload...)
		if f.left == 0 {
			return to.noted(f.kind, f.note)
		}
		return nil
	}
	if f.look && len(payload) > 0 {
		if err := to.passed(payload); err != nil {
			return err
		}
	}
	if f.left == 0 {
		return to.ended()
	}
	return nil
}
