package wire

import (
	"bytes"
	"fmt"
	"strconv"
)

// parse reads the head of a reply, without the empty line at its end, and decides
// where the reply ends: RFC 9112, 6.3.
func (h *http1) parse(head []byte) error {
	line, fields, _ := bytes.Cut(head, []byte("\r\n"))
	const least = len("HTTP/1.1 200")
	if len(line) < least || string(line[:7]) != "HTTP/1." || line[8] != ' ' {
		return fmt.Errorf("%w: %.40q is not the status line of HTTP/1.1", ErrReply, line)
	}
	status, err := strconv.Atoi(string(line[9:least]))
	if err != nil || status < 100 || status > 599 {
		return fmt.Errorf("%w: %.40q has no status", ErrReply, line)
	}
	f := headFields{length: -1, last: line[7] == '0'}
	for len(fields) > 0 {
		line, fields, _ = bytes.Cut(fields, []byte("\r\n"))
		if err := f.read(line); err != nil {
			return err
		}
	}
	h.reply = Outcome{Class: status/100 - 1, Last: f.last}
	switch {
	case status == 101:
		return fmt.Errorf("%w: status 101, to another protocol", ErrReply)
	case status < 200:
		h.state = inHead // the reply itself is still to come
	case h.bare || status == 204 || status == 304:
		h.state = replied
	case f.chunked:
		h.state = inChunkLen
	case f.length == 0:
		h.state = replied
	case f.length > 0:
		h.state, h.left = inBody, f.length
	default:
		h.state, h.reply.Last = untilEnd, true
	}
	return nil
}

// headFields are the fields of a head that say where a reply ends.
type headFields struct {
	length  int64 // -1 without one
	chunked bool
	last    bool
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
			n, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 62)
			if err != nil || f.length >= 0 && f.length != int64(n) {
				return fmt.Errorf("%w: the length %.40q", ErrReply, value)
			}
			f.length = int64(n)
		}
	case len("Transfer-Encoding"):
		if bytes.EqualFold(name, []byte("Transfer-Encoding")) {
			f.chunked = bytes.HasSuffix(bytes.ToLower(bytes.TrimSpace(value)), []byte("chunked"))
		}
	}
	return nil
}
