package session

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

// PlayOptions are the options that a viewer may set in the query of its URL.
type PlayOptions struct {
	Merge time.Duration // merge time; negative: the server's setting
	NoGOP bool          // begin at the next key frame, not at the cached one
	Wait  time.Duration // how long to wait for a stream that is not there

	asked time.Time // when
}

// ParsePlayOptions reads merge (milliseconds, 0 to 350), gop (0 or 1) and wait
// (seconds, 0 to 60). Other keys are ignored. An error matches ErrBadRequest.
func ParsePlayOptions(q url.Values) (PlayOptions, error) {
	o := PlayOptions{Merge: -1, asked: time.Now()}
	if text := q.Get("merge"); text != "" {
		ms, err := strconv.Atoi(text)
		if limit := int(config.MaxMerge / time.Millisecond); err != nil || ms < 0 || ms > limit {
			return o, fmt.Errorf("%w: merge=%.20s is not a number of milliseconds from 0 to %d", ErrBadRequest, Quoted(text), limit)
		}
		o.Merge = time.Duration(ms) * time.Millisecond
	}
	switch text := q.Get("gop"); text {
	case "", "1":
	case "0":
		o.NoGOP = true
	default:
		return o, fmt.Errorf("%w: gop=%.20s is neither 0 nor 1", ErrBadRequest, Quoted(text))
	}
	if text := q.Get("wait"); text != "" {
		s, err := strconv.ParseFloat(text, 64)
		if limit := maxWait.Seconds(); err != nil || !(s >= 0 && s <= limit) {
			return o, fmt.Errorf("%w: wait=%.20s is not a number of seconds from 0 to %g", ErrBadRequest, Quoted(text), limit)
		}
		o.Wait = time.Duration(s * float64(time.Second))
	}
	return o, nil
}

// Quoted escapes text from a peer, so that it is safe in a log line and an
// answer.
func Quoted(text string) string {
	q := strconv.QuoteToASCII(text)
	return q[1 : len(q)-1]
}

// StreamName joins RTMP's application and stream name, or the two parts of a
// path, checks them and returns APP/NAME. Either may have slashes in it. An error
// matches ErrBadRequest.
func StreamName(app, name string) (string, error) {
	full := strings.Trim(app, "/") + "/" + strings.Trim(name, "/")
	bad := func(why string) (string, error) {
		// An address that was escaped twice has its token in the name.
		shown, _, _ := strings.Cut(full, "?")
		return "", fmt.Errorf("%w: stream name %.60q %s", ErrBadRequest, shown, why)
	}
	switch {
	case len(full) > maxName:
		return bad(fmt.Sprintf("is %d bytes long, the limit is %d", len(full), maxName))
	case !utf8.ValidString(full):
		return bad("is not UTF-8")
	case strings.ContainsFunc(full, func(r rune) bool {
		return !unicode.IsGraphic(r) || unicode.IsSpace(r) || strings.ContainsRune(`\?#%"<>|:*`, r)
	}):
		return bad("has characters in it that a name may not have")
	}
	segments := strings.Split(full, "/")
	for _, segment := range segments {
		if segment == "" {
			return bad("is not of the form APP/NAME")
		}
		if segment[0] == '.' {
			return bad("has a part that begins with a dot")
		}
	}
	// These are paths of the server's own.
	if segments[0] == "api" || segments[0] == "assets" {
		return bad("begins with " + segments[0] + "/")
	}
	return full, nil
}
