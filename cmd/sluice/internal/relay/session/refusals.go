package session

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
)

const (
	// refusalsEvery is for how long a refusal that was logged stands for others of its
	// address and reason.
	refusalsEvery = 10 * time.Second
	// maxRefusals bounds the lines of that time.
	maxRefusals = 500
)

// refusals say which refused sessions have a line in the log: any peer can make thousands
// in a second. The zero value is ready for use.
type refusals struct {
	mu   sync.Mutex
	said map[refusal]struct{} // nil: nothing in the latest refusalsEvery
	more map[Outcome]int      // that had no line
}

type refusal struct {
	host netip.Prefix
	Outcome
}

// take reports whether a refusal has a line. say is called with those that had none, when
// refusalsEvery is over or ctx is done.
func (x *refusals) take(ctx context.Context, host netip.Prefix, o Outcome, say func(Outcome, int)) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.said == nil {
		x.said, x.more = map[refusal]struct{}{}, map[Outcome]int{}
		ctx, cancel := context.WithTimeout(ctx, refusalsEvery)
		context.AfterFunc(ctx, func() {
			cancel()
			x.mu.Lock()
			more := x.more
			x.said, x.more = nil, nil
			x.mu.Unlock()
			for o, n := range more {
				say(o, n)
			}
		})
	}
	one := refusal{host, o}
	if _, ok := x.said[one]; ok || len(x.said) == maxRefusals {
		x.more[o]++
		return false
	}
	x.said[one] = struct{}{}
	return true
}

// Refused counts a refused session. It logs the first one of an address and a reason, and
// after 10 s how many more of a reason there were.
func (h *Host) Refused(r Role, info Info, err error) {
	h.Register.Refused(r, err)
	if h.OnRefusal != nil {
		h.OnRefusal(r, info, err)
	}
	if h.refusals.take(h.Ctx, access.HostOf(info.IP()), Outcome{r, Code(err)}, h.refusedMore) {
		h.Log.Info(string(r)+" refused", "stream", info.Stream, "protocol", info.Protocol, "address", info.Address, "agent", shortAgent(info.Agent), "reason", err)
	}
}

func (h *Host) refusedMore(o Outcome, n int) {
	h.Log.Info("more of a "+string(o.Role)+" refused", "count", n, "code", o.Code)
}
