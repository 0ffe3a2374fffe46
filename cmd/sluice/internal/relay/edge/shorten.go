package edge

import "strings"

// maxText is how long the text of an error may be, in bytes: parts of it may be the origin's,
// and it is logged with each attempt.
const maxText = 300

// shorten returns err, or one that is it with a shorter text.
func shorten(err error) error {
	if err == nil || len(err.Error()) <= maxText {
		return err
	}
	return cut{err}
}

type cut struct{ error }

func (c cut) Error() string { return strings.ToValidUTF8(c.error.Error()[:maxText], "") + "..." }

func (c cut) Unwrap() error { return c.error }
