package access

import (
	"errors"
	"net/http"
	"strconv"
)

// Reasons for a refusal, for errors.Is. The token errors match ErrDenied too, as
// do ErrAddress and ErrBanned.
var (
	// ErrDenied: the rules refuse this request; a retry will be refused too.
	ErrDenied = errors.New("access: denied")
	// ErrAddress: the address is not in the allow list.
	ErrAddress error = &sentinel{"access: address not allowed", ErrDenied}
	// ErrTokenMissing: the action needs a token and the request has none.
	ErrTokenMissing error = &sentinel{"access: token missing", ErrDenied}
	// ErrTokenWrong: the token is malformed, for another stream or another
	// action, or signed with another secret.
	ErrTokenWrong error = &sentinel{"access: token wrong", ErrDenied}
	// ErrTokenExpired: the token is valid but has expired.
	ErrTokenExpired error = &sentinel{"access: token expired", ErrDenied}
	// ErrTokenRevoked: the token is valid but was revoked.
	ErrTokenRevoked error = &sentinel{"access: token revoked", ErrDenied}
	// ErrBanned: a ban matches this address, stream or token.
	ErrBanned error = &sentinel{"access: banned", ErrDenied}
	// ErrLimit: a limit is reached; a retry may succeed later.
	ErrLimit = errors.New("access: limit reached")
	// ErrHook: the hook gave no usable answer, so the request is refused.
	ErrHook = errors.New("access: hook failed")
)

// sentinel is an error that is a case of another.
type sentinel struct {
	text string
	kind error
}

func (s *sentinel) Error() string { return s.text }
func (s *sentinel) Unwrap() error { return s.kind }

// Error is a refusal with its reason.
type Error struct {
	Action Action
	Stream string
	Reason string // for the peer: no secrets, no addresses of ours
	Err    error  // one of the errors above
	Cause  error  // the underlying error, for the log; may be nil
}

func (e *Error) Error() string {
	text := e.Err.Error() + ": " + string(e.Action) + " " + strconv.Quote(e.Stream)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Cause}
}

// Status is the HTTP status for err: 200 for nil, 401 for the token errors, 403
// for other denials, 503 for ErrLimit and ErrHook, 500 for what Admit did not
// return.
func Status(err error) int {
	for _, c := range []struct {
		err    error
		status int
	}{
		{ErrTokenMissing, http.StatusUnauthorized},
		{ErrTokenWrong, http.StatusUnauthorized},
		{ErrTokenExpired, http.StatusUnauthorized},
		{ErrTokenRevoked, http.StatusUnauthorized},
		{ErrDenied, http.StatusForbidden},
		{ErrLimit, http.StatusServiceUnavailable},
		{ErrHook, http.StatusServiceUnavailable},
	} {
		if errors.Is(err, c.err) {
			return c.status
		}
	}
	if err == nil {
		return http.StatusOK
	}
	return http.StatusInternalServerError
}

// Reason is the part of err that may be sent to the peer: one line, empty for
// nil.
func Reason(err error) string {
	var e *Error
	switch {
	case errors.As(err, &e) && e.Reason != "":
		return e.Reason
	case err != nil:
		return "refused"
	}
	return ""
}
