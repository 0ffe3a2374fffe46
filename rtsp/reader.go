package rtsp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sluice-go/sluice"
)

// Reader reads what comes over a connection, message by message and frame by
// frame. It belongs to one goroutine at a time.
type Reader struct {
	r      *sluice.BufReader
	limits Limits
	err    error // repeated by every call: the place in the stream is lost

	// The message or frame that has come in part. Nothing is parsed twice,
	// however many calls it takes.
	at       position
	request  *Request
	response *Response
	name     string // of the field whose lines may go on; empty before the first
	value    []byte // of that field
	header   Header
	size     int // bytes of the header so far
	blank    int // empty lines before the message so far
	length   int // of the body or the payload
	channel  uint8
}

// position is a Reader's position within a message.
type position uint8

const (
	atStart  position = iota // before a message or a frame
	atField                  // after a line of the header, or the first one
	atBody                   // after the header
	atBinary                 // after the four bytes before a payload
)

// NewReader returns a Reader of what r has, and sets r's limits to suit. r stays
// the caller's, who recycles it, and must not read from it between two calls
// unless the last one returned an Item or io.EOF.
func NewReader(r *sluice.BufReader, l Limits) *Reader {
	if r == nil {
		panic("rtsp: NewReader(nil)")
	}
	l = l.orDefault()
	r.SetLimits(l.below())
	return &Reader{r: r, limits: l}
}

// Read returns the next request, response or interleaved frame; what it holds
// is retained. A frame allocates nothing and is not copied but where a block
// ends.
//
// Empty lines before a message are passed over (RFC 2326, section 4.1; RFC 7826,
// section 5.1), up to 16 of them.
func (r *Reader) Read() (Item, error) {
	if r.r == nil {
		panic("rtsp: Reader that NewReader has not made")
	}
	if r.err != nil {
		return Item{}, r.err
	}
	for {
		var done bool
		var err error
		switch r.at {
		case atStart:
			err = r.start()
		case atField:
			err = r.field()
		case atBody:
			done, err = true, r.body()
		case atBinary:
			payload, err := r.r.ReadBuf(r.length)
			if err != nil {
				return Item{}, r.failed("interleaved frame", err)
			}
			r.at = atStart
			return Item{Interleaved: Interleaved{Channel: r.channel, Payload: payload}}, nil
		}
		if err != nil {
			return Item{}, err
		}
		if done {
			item := Item{Request: r.request, Response: r.response}
			*r = Reader{r: r.r, limits: r.limits, value: r.scratch()}
			return item, nil
		}
	}
}

// scratch is the space for values, unless it is more than a connection that
// waits should hold.
func (r *Reader) scratch() []byte {
	if cap(r.value) > 512 {
		return nil
	}
	return r.value[:0]
}

// failed makes the error of a call of the BufReader below, and remembers it
// when another call would not help.
func (r *Reader) failed(where string, err error) error {
	switch {
	case err == io.EOF && r.at == atStart:
		return io.EOF
	case errors.Is(err, sluice.ErrTooLong):
		r.err = fmt.Errorf("%w: %s: %w", ErrTooLong, where, err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		r.err = fmt.Errorf("rtsp: %s: %w", where, io.ErrUnexpectedEOF)
	default:
		return err
	}
	return r.err
}

// wrong remembers an error in what the peer sent.
func (r *Reader) wrong(err error) error {
	r.err = err
	return err
}

// start reads what stands before a payload, or the first line of a message.
func (r *Reader) start() error {
	p := r.r.View()
	if len(p) == 0 {
		var err error
		if p, err = r.r.Peek(1); err != nil {
			return r.failed("start", err)
		}
	}
	if p[0] == '$' {
		return r.binary(p)
	}
	line, err := r.r.ReadLineSlice()
	if err != nil {
		return r.failed("first line", err)
	}
	if len(line) == 0 {
		if r.blank++; r.blank > mostBlank {
			return r.wrong(tooLong("number of empty lines", r.blank, mostBlank))
		}
		return nil
	}
	if r.request, r.response, err = parseStart(line); err != nil {
		return r.wrong(err)
	}
	r.at = atField
	return nil
}

// binary reads "$", a channel and a length of two bytes (RFC 2326, section
// 10.12; RFC 7826, section 14).
func (r *Reader) binary(p []byte) error {
	if len(p) < 4 {
		var err error
		if p, err = r.r.Peek(4); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return r.failed("interleaved frame", err)
		}
	}
	channel, length := p[1], int(p[2])<<8|int(p[3])
	if length > r.limits.Interleaved {
		return r.wrong(tooLong("interleaved frame", length, r.limits.Interleaved))
	}
	if _, err := r.r.Next(4); err != nil {
		return err // not possible: they are there
	}
	r.channel, r.length, r.blank, r.at = channel, length, 0, atBinary
	return nil
}

// field reads a line of the header: a field, more of one, or the end.
func (r *Reader) field() error {
	line, err := r.r.ReadLineSlice()
	if err != nil {
		return r.failed("header", err)
	}
	if r.size += len(line) + 2; r.size > r.limits.Header {
		return r.wrong(tooLong("header", r.size, r.limits.Header))
	}
	if len(line) == 0 {
		r.endField()
		return r.endHeader()
	}
	if !isText(line) {
		return r.wrong(syntax("header line", string(line)))
	}
	if line[0] == ' ' || line[0] == '\t' {
		if r.name == "" {
			return r.wrong(syntax("first header line", string(line)))
		}
		if more := bytes.Trim(line, " \t"); len(more) > 0 {
			if len(r.value) > 0 {
				r.value = append(r.value, ' ')
			}
			r.value = append(r.value, more...)
		}
		return nil
	}
	r.endField()
	if len(r.header) >= r.limits.Fields {
		return r.wrong(tooLong("number of header fields", len(r.header)+1, r.limits.Fields))
	}
	// RFC 7826, section 20.1 (HCOLON), allows space before the colon.
	name, value, ok := bytes.Cut(line, []byte{':'})
	name = bytes.TrimRight(name, " \t")
	if !ok || !isToken(name) {
		return r.wrong(syntax("header line", string(line)))
	}
	r.name = string(name)
	r.value = append(r.value[:0], bytes.Trim(value, " \t")...)
	return nil
}

func (r *Reader) endField() {
	if r.name != "" {
		r.header = append(r.header, Field{r.name, string(r.value)})
		r.name = ""
	}
}

// endHeader gives the header to its message and finds out what follows.
func (r *Reader) endHeader() error {
	length, err := r.header.bodyLength(r.limits.Body)
	if err != nil {
		return r.wrong(err)
	}
	if r.request != nil {
		r.request.Header = r.header
	} else {
		r.response.Header = r.header
		if bodiless(r.response.Status) {
			length = 0
		}
	}
	r.length, r.at = length, atBody
	return nil
}

func (r *Reader) body() error {
	if r.length == 0 {
		return nil
	}
	b, err := r.r.ReadBuf(r.length)
	if err != nil {
		return r.failed("body", err)
	}
	if r.request != nil {
		r.request.Body = b //sluice:moved
	} else {
		r.response.Body = b //sluice:moved
	}
	return nil
}

// trimmed is a value as a Reader would return it.
func trimmed(value string) string { return strings.Trim(value, " \t") }
