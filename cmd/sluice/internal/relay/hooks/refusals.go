package hooks

import (
	"strings"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

const (
	// refusalsAtOnce and refusalEvery bound the events of refusals: any peer can make
	// them, and they must not take the room of others in the spool.
	refusalsAtOnce = 50
	refusalEvery   = 100 * time.Millisecond
	// maxRefused is how many bytes of a name that no session has are in an event.
	maxRefused = 256
)

// Refusals makes events of sessions that are not admitted. It is safe for concurrent use.
type Refusals struct {
	report Reporter

	mu     sync.Mutex
	room   int
	filled time.Time // when room has grown
	more   int64     // that had no event, since the latest
}

// NewRefusals returns one that adds its events to those of r.
func NewRefusals(r Reporter) *Refusals {
	return &Refusals{report: r, room: refusalsAtOnce, filled: time.Now()}
}

// Add reports a refusal, for session.Host. Beyond ten in a second they are counted in the
// next event.
func (r *Refusals) Add(role session.Role, info session.Info, err error) {
	r.add(time.Now(), role, info, err)
}

func (r *Refusals) add(now time.Time, role session.Role, info session.Info, err error) {
	more, ok := r.take(now)
	if !ok {
		return
	}
	_, reason := session.Refusal(err)
	r.report.add(Event{
		Event: Refused, Time: now, Action: string(role.Action()), Stream: bounded(info.Stream), Address: info.Address,
		Protocol: info.Protocol, Agent: bounded(info.Agent), Code: session.Code(err), Reason: reason, Count: more,
	})
}

// take returns whether there is room for an event, and how many had none before.
func (r *Refusals) take(now time.Time) (more int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := int(now.Sub(r.filled) / refusalEvery); n > 0 {
		r.room = min(r.room+n, refusalsAtOnce)
		r.filled = r.filled.Add(time.Duration(n) * refusalEvery)
	}
	if r.room == 0 {
		r.more++
		return 0, false
	}
	r.room--
	more, r.more = r.more, 0
	return more, true
}

func bounded(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxRefused)], "")
}
