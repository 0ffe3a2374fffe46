package sluice

import (
	"bytes"
	"errors"
	"io"
	"net/textproto"
	"strconv"

	"github.com/sluice-go/sluice/mem"
)

// ReadMIMEHeader reads header fields up to and including the empty line that
// ends them, as textproto.Reader.ReadMIMEHeader does: keys are made canonical,
// continuation lines are joined with one space (RFC 5322, section 2.2.3; used
// by RTSP, SIP and old HTTP). The limits are Options.Line for a line,
// Options.Header for all and 1,000 fields. A line that is not a field is a
// textproto.ProtocolError. So is one whose name is not a token (RFC 9110, section
// 5.6.2), with a space before its colon for example, which textproto passes on.
//
// With any error nothing is consumed; after ErrShort or a deadline the call
// can be repeated. Over a fed reader it then goes on behind the lines that it has seen,
// whose fields are kept meanwhile, as far as Options.Header goes.
func (b *BufReader) ReadMIMEHeader() (textproto.MIMEHeader, error) {
	outer := b.win.Marked()
	if !outer {
		b.win.Mark()
		b.inHeader = true
	}
	into := b.win.Before() // bytes since the caller's mark
	done := false
	defer func() {
		if !b.win.Marked() {
			return // recycled meanwhile
		}
		if !done { // also when a source panics
			b.win.Back(into)
		}
		if !outer {
			b.win.Unmark()
			b.inHeader = false
		}
	}()
	h, err := b.header()
	for err == nil && !done {
		done, err = b.headerLine(h)
	}
	if err != nil {
		if t := b.tried(); t != nil && (errors.Is(err, ErrShort) || errors.Is(err, mem.ErrBudget)) {
			t.header = h
		}
		return nil, rename(err, "ReadMIMEHeader")
	}
	return h.fields, nil
}

// header is a header of which lines have been read.
type header struct {
	at     int64 // where in the stream it begins
	size   int   // bytes of its lines, their ends counted as two
	count  int   // of its fields
	read   int   // bytes of its lines
	fields textproto.MIMEHeader

	key   string // of the field that may go on
	text  []byte // its value so far, copied when it spans lines
	value string
}

// header returns the header that begins here, behind whose lines the reader then is: those that an earlier
// call has read, or none.
func (b *BufReader) header() (*header, error) {
	at := b.position()
	if t := b.tried(); t != nil && t.header != nil {
		h := t.header
		t.header = nil
		if h.at == at {
			_, err := b.skip(h.read)
			return h, err
		}
	}
	return &header{at: at, fields: make(textproto.MIMEHeader)}, nil
}

// headerLine reads a line of h, and reports whether it was the last.
func (b *BufReader) headerLine(h *header) (last bool, err error) {
	limits := b.limits()
	line, err := b.ReadLineSlice()
	if err != nil {
		if err == io.EOF && h.size > 0 {
			err = &Error{op: "ReadMIMEHeader", got: int64(h.size), Err: io.ErrUnexpectedEOF}
		}
		return false, err
	}
	h.read = int(b.position() - h.at)
	if h.size += len(line) + 2; h.size > limits.header {
		return false, &Error{op: "ReadMIMEHeader", limit: int64(limits.header), got: int64(h.size), Err: ErrTooLong}
	}
	return len(line) == 0, h.add(line)
}

// add adds a line without its end; an empty one ends the header.
func (h *header) add(line []byte) error {
	if len(line) == 0 {
		h.store()
		return nil
	}
	if line[0] == ' ' || line[0] == '\t' {
		if h.key == "" {
			return textproto.ProtocolError("malformed MIME header initial line: " + quoted(line))
		}
		if !printable(line) {
			return textproto.ProtocolError("malformed MIME header line: " + quoted(line))
		}
		if h.text == nil {
			h.text = []byte(h.value)
		}
		h.text = append(append(h.text, ' '), bytes.Trim(line, " \t")...)
		return nil
	}
	h.store()
	if h.count++; h.count > maxFields {
		return &Error{op: "ReadMIMEHeader", limit: int64(maxFields), got: int64(h.count), Err: errFields}
	}
	k, v, ok := bytes.Cut(line, []byte{':'})
	if !ok || !token(k) || !printable(v) {
		return textproto.ProtocolError("malformed MIME header line: " + quoted(line))
	}
	h.key = textproto.CanonicalMIMEHeaderKey(string(k))
	h.value = string(bytes.Trim(v, " \t"))
	return nil
}

// store puts the field that went on until here among the others.
func (h *header) store() {
	if h.text != nil {
		h.value = string(bytes.TrimLeft(h.text, " \t"))
	}
	if h.key != "" {
		h.fields[h.key] = append(h.fields[h.key], h.value)
	}
	h.key, h.text, h.value = "", nil, ""
}

// token reports whether k is a field name: RFC 9110, section 5.6.2.
func token(k []byte) bool {
	for _, c := range k {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), c) >= 0:
		default:
			return false
		}
	}
	return len(k) > 0
}

// printable reports whether v has no control characters but tabs, as a field's
// value must (RFC 9110, section 5.5): a lone CR is the end of a line to some.
func printable(v []byte) bool {
	for _, c := range v {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// quoted cuts a bad line to what a log can bear.
func quoted(line []byte) string {
	const most = 64
	if len(line) > most {
		return strconv.Quote(string(line[:most])) + "..."
	}
	return strconv.Quote(string(line))
}
