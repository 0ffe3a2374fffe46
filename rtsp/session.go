package rtsp

import (
	"strconv"
	"strings"
	"time"
)

// DefaultSessionTimeout is how long a server keeps a silent session whose
// Session header says nothing else: RFC 2326, section 12.37; RFC 7826, section
// 18.49.
const DefaultSessionTimeout = 60 * time.Second

// mostSessionID is longer than the identifiers that servers make.
const mostSessionID = 256

// Session is the header field of that name.
type Session struct {
	// ID is opaque; the rule is for eight letters, digits and $-_.+ at least,
	// and not all servers keep it.
	ID string
	// Timeout is in whole seconds; 0 when the header does not say, which means
	// DefaultSessionTimeout.
	Timeout time.Duration
}

// ParseSession understands the value of a Session header. Parameters other than
// the timeout are passed over. With an error of the timeout comes the ID.
func ParseSession(text string) (Session, error) {
	id, rest, more := strings.Cut(text, ";")
	s := Session{ID: trimmed(id)}
	if !isSessionID(s.ID) {
		return Session{}, syntax("Session", text)
	}
	for more {
		var param string
		param, rest, more = strings.Cut(rest, ";")
		name, value, _ := strings.Cut(param, "=")
		if !strings.EqualFold(trimmed(name), "timeout") {
			continue
		}
		seconds, err := parseDigits(trimmed(value), 31)
		if err != nil {
			return Session{ID: s.ID}, syntax("timeout of a Session", text)
		}
		s.Timeout = time.Duration(seconds) * time.Second
	}
	return s, nil
}

func isSessionID(id string) bool {
	return isURL(id) && len(id) <= mostSessionID && !strings.ContainsAny(id, `;,"`)
}

// String is the value of the header. It is as good as the ID.
func (s Session) String() string {
	if s.Timeout < time.Second {
		return s.ID
	}
	return s.ID + ";timeout=" + strconv.FormatInt(int64(s.Timeout/time.Second), 10)
}
