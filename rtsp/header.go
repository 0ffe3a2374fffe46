package rtsp

import (
	"slices"
	"strconv"
	"strings"
)

// Field is one field of a header, its name as it was written and its value
// without the space around it and without line breaks.
type Field struct{ Name, Value string }

// Header is the fields of a message in their order. Names are compared without
// regard to case (RFC 2326, section 4.2, which refers to RFC 2068; RFC 7826,
// section 5.2), and kept as they are: there are peers that look for CSeq and
// overlook Cseq.
type Header []Field

// Get returns the value of the first field of that name, or nothing.
func (h Header) Get(name string) string {
	v, _ := h.Lookup(name)
	return v
}

// Lookup returns the value of the first field of that name, and whether there
// is one.
func (h Header) Lookup(name string) (value string, ok bool) {
	for i := range h {
		if strings.EqualFold(h[i].Name, name) {
			return h[i].Value, true
		}
	}
	return "", false
}

// Values returns the values of all fields of that name, in their order.
func (h Header) Values(name string) []string {
	var list []string
	for i := range h {
		if strings.EqualFold(h[i].Name, name) {
			list = append(list, h[i].Value)
		}
	}
	return list
}

// Add adds a field at the end.
func (h *Header) Add(name, value string) { *h = append(*h, Field{name, value}) }

// Set gives the first field of that name this value and removes the others, or
// adds one.
func (h *Header) Set(name, value string) {
	for i := range *h {
		if strings.EqualFold((*h)[i].Name, name) {
			(*h)[i].Value = value
			rest := (*h)[i+1:]
			rest.Del(name)
			*h = (*h)[:i+1+len(rest)]
			return
		}
	}
	h.Add(name, value)
}

// Del removes all fields of that name.
func (h *Header) Del(name string) {
	*h = slices.DeleteFunc(*h, func(f Field) bool { return strings.EqualFold(f.Name, name) })
}

// CSeq returns the sequence number of the message (RFC 2326, section 12.17; RFC
// 7826, section 18.20), which every request has and its response repeats.
func (h Header) CSeq() (uint32, error) {
	text, ok := h.Lookup("CSeq")
	if !ok {
		return 0, syntax("no CSeq", "")
	}
	n, err := parseDigits(text, 32)
	if err != nil {
		return 0, syntax("CSeq", text)
	}
	return uint32(n), nil
}

// bodyLength is what Content-Length says (RFC 2326, section 12.14), 0 without
// it. Two that differ are refused: each end would see another message.
func (h Header) bodyLength(limit int) (int, error) {
	// RTSP has no transfer codings (section 4.4). A peer that sends one would see
	// the end of the message at another place than this reader.
	if text, ok := h.Lookup("Transfer-Encoding"); ok {
		return 0, syntax("Transfer-Encoding", text)
	}
	var length uint64
	seen := false
	for i := range h {
		if !strings.EqualFold(h[i].Name, "Content-Length") {
			continue
		}
		n, err := parseDigits(h[i].Value, 64)
		if err != nil || seen && n != length {
			return 0, syntax("Content-Length", h[i].Value)
		}
		length, seen = n, true
	}
	if length > uint64(limit) {
		return 0, tooLong("body", length, limit)
	}
	return int(length), nil
}

// parseDigits is strconv.ParseUint for digits only, without signs.
func parseDigits(text string, bits int) (uint64, error) {
	if text == "" || len(text) > 19 {
		return 0, strconv.ErrSyntax
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, strconv.ErrSyntax
		}
	}
	return strconv.ParseUint(text, 10, bits)
}

// isToken reports whether s can be a method or a field's name: RFC 2326,
// appendix D.1 (token); RFC 7826, section 20.1.
func isToken[T []byte | string](s T) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return len(s) > 0
}

// isText reports whether s has no control characters but tabs.
func isText[T []byte | string](s T) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// isURL reports whether s can stand in a request line: without spaces and
// control characters. What it means is for the caller, and bytes beyond ASCII,
// which are against the rule, do occur.
func isURL[T []byte | string](s T) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == 0x7f {
			return false
		}
	}
	return len(s) > 0
}
