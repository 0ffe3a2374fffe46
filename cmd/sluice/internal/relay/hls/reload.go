package hls

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// A position is what a request for a playlist waits for (rfc8216bis, section 6.2.5.2): a
// part of a segment, or with part -1 the whole segment. With segment -1 it waits for
// nothing.
type position struct{ segment, part int64 }

var errPosition = fmt.Errorf("%w: _HLS_msn and _HLS_part are numbers of what comes next", session.ErrBadRequest)

// parsePosition reads the directives of a delivery. An error matches ErrBadRequest.
func parsePosition(q url.Values) (position, error) {
	p := position{-1, -1}
	for _, d := range []struct {
		name string
		to   *int64
	}{{"_HLS_msn", &p.segment}, {"_HLS_part", &p.part}} {
		text := q.Get(d.name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 62)
		if err != nil {
			return p, errPosition
		}
		*d.to = int64(n)
	}
	if p.part >= 0 && p.segment < 0 {
		return p, errPosition
	}
	return p, nil
}

// errAhead: the position is further ahead than a player may ask for.
var errAhead = errors.New("hls: a position too far ahead")

// reached reports whether the playlist has the position. The timeline's lock is held.
func (t *timeline) reached(p position) (bool, error) {
	if t.target == 0 && !t.over {
		return false, nil
	}
	if t.over || p.segment < 0 {
		return true, nil
	}
	last := t.last()
	if p.segment > last+2 {
		return false, errAhead
	}
	if p.part >= 0 {
		// How many parts ahead a player may ask for: those of 3 s.
		ahead := max(3, 3000/max(t.longest, 1))
		have := int64(0)
		if s := t.find(p.segment); s != nil {
			have = int64(len(s.parts))
		}
		if p.segment > last && p.part > have+ahead {
			return false, errAhead
		}
		if t.low && p.segment == last+1 && p.part < have {
			return true, nil
		}
	}
	if p.segment < last || p.segment == last && p.part < 0 {
		return true, nil
	}
	if p.segment == last {
		// A part behind the segment's last is the first of the next one.
		if s := t.find(last); s != nil && p.part < int64(len(s.parts)) {
			return true, nil
		}
		next := t.find(last + 1)
		return next != nil && len(next.parts) > 0, nil
	}
	return false, nil
}
