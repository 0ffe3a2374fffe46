package rtsp

import (
	"bytes"
	"strings"
)

// parseStart understands the first line of a message, borrowed until it
// returns; one of the results is nil.
func parseStart(line []byte) (*Request, *Response, error) {
	if bytes.HasPrefix(line, []byte("RTSP/")) {
		m, err := parseStatusLine(line)
		return nil, m, err
	}
	m, err := parseRequestLine(line)
	return m, nil, err
}

// parseRequestLine: Method SP Request-URI SP RTSP-Version (RFC 2326, section
// 6.1; RFC 7826, section 7.1).
func parseRequestLine(line []byte) (*Request, error) {
	method, rest, ok := bytes.Cut(line, []byte{' '})
	url, version, ok2 := bytes.Cut(rest, []byte{' '})
	if !ok || !ok2 || !isToken(method) || !isURL(url) {
		return nil, syntax("request line", string(line))
	}
	v, err := parseVersion(version)
	if err != nil {
		return nil, err
	}
	return &Request{Method: string(method), URL: string(url), Version: v}, nil
}

// parseStatusLine: RTSP-Version SP Status-Code SP Reason-Phrase (RFC 2326,
// section 7.1; RFC 7826, section 8.1). There are peers that leave the phrase
// out together with the space before it.
func parseStatusLine(line []byte) (*Response, error) {
	version, rest, _ := bytes.Cut(line, []byte{' '})
	v, err := parseVersion(version)
	if err != nil {
		return nil, err
	}
	code, reason, _ := bytes.Cut(rest, []byte{' '})
	status, err := parseDigits(string(code), 16)
	if err != nil || len(code) != 3 || status < 100 || !isText(reason) {
		return nil, syntax("status line", string(line))
	}
	return &Response{Version: v, Status: int(status), Reason: string(bytes.Trim(reason, " \t"))}, nil
}

// parseVersion returns a constant, so that a message does not keep its own.
func parseVersion(p []byte) (string, error) {
	switch text := string(p); {
	case text == Version10:
		return Version10, nil
	case text == Version20:
		return Version20, nil
	case strings.HasPrefix(text, "RTSP/"), strings.HasPrefix(text, "HTTP/"), strings.HasPrefix(text, "SIP/"):
		return "", &versionError{quoted(text)}
	default:
		return "", syntax("version", text)
	}
}

type versionError struct{ got string }

func (e *versionError) Error() string { return ErrVersion.Error() + ": " + e.got }
func (e *versionError) Unwrap() error { return ErrVersion }
