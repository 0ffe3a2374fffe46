package sluice

import (
	"bytes"
	"io"
	"net/textproto"
	"strconv"
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
// can be repeated. It begins again then: a header of 36 KB that is fed in single
// bytes takes seconds, so give a fed reader an Options.Header that bounds that.
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
	h, err := b.mimeHeader()
	done = err == nil
	return h, err
}

func (b *BufReader) mimeHeader() (textproto.MIMEHeader, error) {
	limits := b.limits()
	h := make(textproto.MIMEHeader)
	var size, fields int
	var key string  // of the field that may go on
	var text []byte // its value so far, copied when it spans lines
	var whole string
	store := func() {
		if text != nil {
			whole = string(bytes.TrimLeft(text, " \t"))
		}
		if key != "" {
			h[key] = append(h[key], whole)
		}
		key, text, whole = "", nil, ""
	}
	for {
		line, err := b.ReadLineSlice()
		if err != nil {
			if err == io.EOF && size > 0 {
				err = &Error{op: "ReadMIMEHeader", got: int64(size), Err: io.ErrUnexpectedEOF}
			}
			return nil, rename(err, "ReadMIMEHeader")
		}
		if size += len(line) + 2; size > limits.header {
			return nil, &Error{op: "ReadMIMEHeader", limit: int64(limits.header), got: int64(size), Err: ErrTooLong}
		}
		if len(line) == 0 {
			store()
			return h, nil
		}
		if line[0] == ' ' || line[0] == '\t' {
			if key == "" {
				return nil, textproto.ProtocolError("malformed MIME header initial line: " + quoted(line))
			}
			if !printable(line) {
				return nil, textproto.ProtocolError("malformed MIME header line: " + quoted(line))
			}
			if text == nil {
				text = []byte(whole)
			}
			text = append(append(text, ' '), bytes.Trim(line, " \t")...)
			continue
		}
		store()
		if fields++; fields > maxFields {
			return nil, &Error{op: "ReadMIMEHeader", limit: int64(maxFields), got: int64(fields), Err: errFields}
		}
		k, v, ok := bytes.Cut(line, []byte{':'})
		if !ok || !token(k) || !printable(v) {
			return nil, textproto.ProtocolError("malformed MIME header line: " + quoted(line))
		}
		key = textproto.CanonicalMIMEHeaderKey(string(k))
		whole = string(bytes.Trim(v, " \t"))
	}
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
