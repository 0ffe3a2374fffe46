package session

import (
	"errors"
	"maps"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/live"
)

// An Outcome is a refusal or an ending, by role and the code of its reason.
type Outcome struct {
	Role Role
	Code string
}

// Totals are figures of the server since it began. Except On they never decrease,
// also when sessions and streams end.
type Totals struct {
	On      map[Kind]int     // sessions at this moment
	Began   map[Kind]int64   // sessions
	Figures map[Kind]Figures // bytes, frames, jumps and dropped frames; active sessions included
	Refused map[Outcome]int64
	Ended   map[Outcome]int64
}

// Totals returns the figures at this moment.
func (c *Register) Totals() Totals {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := Totals{
		On: map[Kind]int{}, Began: maps.Clone(c.began), Figures: maps.Clone(c.past),
		Refused: maps.Clone(c.refused), Ended: maps.Clone(c.ended),
	}
	for _, s := range c.byID {
		kind := Kind{s.Role, s.Protocol}
		t.On[kind]++
		t.Figures[kind] = t.Figures[kind].plus(s.Figures())
	}
	return t
}

// plus adds the figures that can be added.
func (f Figures) plus(g Figures) Figures {
	return Figures{Bytes: f.Bytes + g.Bytes, Frames: f.Frames + g.Frames, Jumps: f.Jumps + g.Jumps, Dropped: f.Dropped + g.Dropped}
}

// Refused counts a session that was not admitted.
func (c *Register) Refused(r Role, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[Outcome{r, Code(err)}]++
}

// codes are the names of errors in metrics. The first match is used.
var codes = []struct {
	err  error
	code string
}{
	{ErrBadRequest, "bad_request"},
	{ErrNotFound, "not_found"},
	{ErrBusy, "busy"},
	{ErrElsewhere, "elsewhere"},
	{ErrUpgrade, "upgrade"},
	{ErrClosing, "shutdown"},
	{ErrOrigin, "origin"},
	{ErrLength, "bad_request"},
	{ErrCoding, "bad_request"},
	{ErrKicked, "kicked"},
	{ErrPeerGone, "peer_closed"},
	{live.ErrGone, "peer_closed"},
	{ErrEndOfBody, "done"},
	{ErrDone, "done"},
	{live.ErrEnded, "done"},
	{au.ErrChanged, "changed"},
	{ErrIdle, "idle"},
	{ErrTooSlow, "min_rate"},
	{live.ErrTakenOver, "taken_over"},
	{live.ErrClosed, "shutdown"},
	{live.ErrStalled, "stalled"},
	{live.ErrSlow, "slow"},
	{live.ErrMemory, "memory"},
	{ErrFull, "memory"},
	{ErrFrame, "frame"},
	{access.ErrBanned, "banned"},
	{access.ErrAddress, "address"},
	{access.ErrTokenMissing, "token"},
	{access.ErrTokenWrong, "token"},
	{access.ErrTokenExpired, "token"},
	{access.ErrTokenRevoked, "token"},
	{access.ErrDenied, "hook"},
	{access.ErrLimit, "limit"},
	{access.ErrHook, "hook_failed"},
}

// Code returns the code of a reason, for programs: one of a fixed list, "error"
// for other errors and "done" for nil.
func Code(err error) string {
	if err == nil {
		return "done"
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return "error"
}
