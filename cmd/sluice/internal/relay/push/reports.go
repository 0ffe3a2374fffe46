package push

import "time"

// reports bounds the log's lines of a target that is away: the first failure, then one a
// minute, and fewer and fewer down to one an hour. The API and events have every state.
type reports struct {
	state string // of the latest line; "": there is none
	last  time.Time
	gap   time.Duration // until the next line of this state
}

const reportLeast, reportMost = time.Minute, time.Hour

// due reports whether a failure is to be logged, and counts it then. Another state is
// logged earlier than the same one again.
func (r *reports) due(state string, now time.Time) bool {
	since, same := now.Sub(r.last), state == r.state
	switch {
	case r.state == "" || !same && since >= reportLeast:
		r.gap = reportLeast
	case since >= r.gap:
		r.gap = min(2*r.gap, reportMost)
	default:
		return false
	}
	r.state, r.last = state, now
	return true
}
