package session

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/pattern"
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

// Moment reads the time that a key of a query has: RFC 3339, or as long before now, such
// as -30s. An error matches ErrBadRequest.
func Moment(q url.Values, key string, now time.Time) (time.Time, error) {
	text := q.Get(key)
	if strings.HasPrefix(text, "-") || text == "0" || text == "0s" {
		// Ten years: beyond that a duration would overflow.
		if d, err := time.ParseDuration(text); err == nil && d <= 0 && d > -10*365*24*time.Hour {
			return now.Add(d), nil
		}
	} else if t, err := time.Parse(time.RFC3339, strings.ReplaceAll(text, " ", "+")); err == nil {
		// A + that was not escaped has become a space.
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%w: %s=%.40s is neither a time such as 2026-01-02T15:04:05Z nor one before now such as -30s", ErrBadRequest, key, Quoted(text))
}

// Rewinding is the key by which a viewer asks for what was recorded since a time.
const Rewinding = "from"

// Rewind reads from when a viewer of a stream wants what was recorded: at the earliest
// as long ago as the setting rewind allows. An error matches ErrBadRequest, or
// ErrNotFound where viewers may not go back.
func (h *Host) Rewind(stream string, q url.Values, now time.Time) (time.Time, error) {
	from, err := Moment(q, Rewinding, now)
	most := h.For(stream).Rewind
	switch {
	case err != nil:
		return from, err
	case most == 0:
		return from, fmt.Errorf("%w in the past: the setting rewind is 0", ErrNotFound)
	case from.After(now):
		return from, fmt.Errorf("%w: %s is in the future", ErrBadRequest, from.UTC().Format(time.RFC3339))
	case from.Before(now.Add(-most)):
		from = now.Add(-most)
	}
	return from, nil
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
	if why := pattern.NameFault(full); why != "" {
		// An address that was escaped twice has its token in the name.
		shown, _, _ := strings.Cut(strings.Trim(full, "/"), "?")
		return "", fmt.Errorf("%w: stream name %.60q %s", ErrBadRequest, shown, why)
	}
	return full, nil
}
