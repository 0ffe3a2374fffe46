package rtsp

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// AppendHead appends the request to dst up to where its body begins. The
// Content-Length is that of Body; fields of this name in Header are left out.
// dst is borrowed until the call returns; the result is the caller's.
//
// What could not be read again is ErrSyntax, and dst is returned as it was: a
// method that is no token, a URL with spaces, line breaks in a value.
func (m *Request) AppendHead(dst []byte) ([]byte, error) {
	if !isToken(m.Method) || m.Method[0] == '$' { // which begins a frame
		return dst, syntax("method", m.Method)
	}
	if !isURL(m.URL) {
		return dst, syntax("URL", m.URL)
	}
	version, err := writtenVersion(m.Version)
	if err != nil {
		return dst, err
	}
	p := append(dst, m.Method...)
	p = append(p, ' ')
	p = append(p, m.URL...)
	p = append(p, ' ')
	p = append(p, version...)
	p = append(p, "\r\n"...)
	if p, err = m.Header.append(p, bufLen(&m.Body)); err != nil {
		return dst, err
	}
	return p, nil
}

// AppendHead appends the response to dst up to where its body begins, as
// Request.AppendHead does, with dst borrowed. A body with a status that has none is ErrSyntax.
func (m *Response) AppendHead(dst []byte) ([]byte, error) {
	if m.Status < 100 || m.Status > 999 {
		return dst, syntax("status", strconv.Itoa(m.Status))
	}
	if !isText(m.Reason) {
		return dst, syntax("reason", m.Reason)
	}
	length := bufLen(&m.Body)
	if length > 0 && bodiless(m.Status) {
		return dst, fmt.Errorf("%w: %d bytes of body with status %d", ErrSyntax, length, m.Status)
	}
	version, err := writtenVersion(m.Version)
	if err != nil {
		return dst, err
	}
	p := append(dst, version...)
	p = append(p, ' ')
	p = strconv.AppendInt(p, int64(m.Status), 10)
	p = append(p, ' ')
	p = append(p, trimmed(m.Reason)...)
	p = append(p, "\r\n"...)
	if p, err = m.Header.append(p, length); err != nil {
		return dst, err
	}
	return p, nil
}

func writtenVersion(v string) (string, error) {
	switch v {
	case "":
		return Version10, nil
	case Version10, Version20:
		return v, nil
	}
	return "", &versionError{quoted(v)}
}

func (h Header) append(p []byte, length int) ([]byte, error) {
	for i := range h {
		name, value := h[i].Name, h[i].Value
		if !isToken(name) {
			return p, syntax("name of a header field", name)
		}
		if !isText(value) {
			return p, syntax("header field "+name, value)
		}
		if strings.EqualFold(name, "Transfer-Encoding") {
			return p, syntax("header field", name)
		}
		if strings.EqualFold(name, "Content-Length") {
			continue
		}
		p = append(p, name...)
		p = append(p, ": "...)
		p = append(p, trimmed(value)...)
		p = append(p, "\r\n"...)
	}
	if length > 0 {
		p = append(p, "Content-Length: "...)
		p = strconv.AppendInt(p, int64(length), 10)
		p = append(p, "\r\n"...)
	}
	return append(p, "\r\n"...), nil
}

func bufLen(b *mem.Buf) int {
	if !b.Valid() {
		return 0
	}
	return b.Len()
}

// WriteRequest writes m to w; the caller flushes. m.Body is transferred, also
// when it fails, and m has no body afterwards. After ErrSyntax nothing was
// written.
func WriteRequest(w *sluice.BufWriter, m *Request) error {
	if w == nil || m == nil {
		panic("rtsp: WriteRequest without a writer or a request")
	}
	head, err := m.AppendHead(nil)
	return write(w, head, err, &m.Body)
}

// WriteResponse writes m to w; the caller flushes. m.Body is transferred, also
// when it fails, and m has no body afterwards. After ErrSyntax nothing was
// written.
func WriteResponse(w *sluice.BufWriter, m *Response) error {
	if w == nil || m == nil {
		panic("rtsp: WriteResponse without a writer or a response")
	}
	head, err := m.AppendHead(nil)
	return write(w, head, err, &m.Body)
}

func write(w *sluice.BufWriter, head []byte, err error, body *mem.Buf) error {
	if err == nil {
		_, err = w.Write(head)
	}
	if err != nil {
		release(body)
		return err
	}
	if !body.Valid() {
		return nil
	}
	b := *body //sluice:moved
	*body = mem.Buf{}
	return w.WriteBuf(b)
}

// WriteInterleaved writes a frame for a channel to w; the caller flushes. The
// payload is transferred, also when it fails. It is not copied unless it is
// short, and nothing is allocated. More than 65,535 bytes are ErrTooLong.
func WriteInterleaved(w *sluice.BufWriter, channel uint8, payload mem.Buf) error {
	if w == nil {
		panic("rtsp: WriteInterleaved without a writer")
	}
	n := payload.Len()
	if n > mostInterleaved {
		payload.Release()
		return tooLong("interleaved frame", n, mostInterleaved)
	}
	// An error of these two is sticky: WriteFrame returns it.
	_ = w.WriteByte('$')
	_ = w.WriteByte(channel)
	return w.WriteFrame(2, binary.BigEndian, payload)
}
