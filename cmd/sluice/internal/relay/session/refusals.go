package session

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
)

const (
	// refusalsEvery is the time in which lines are counted.
	refusalsEvery = 10 * time.Second
	// maxRefusals bounds the lines of that time, and maxOfAddress those of one address.
	maxRefusals, maxOfAddress = 500, 20
)

// refusals say which refused sessions have a line in the log: any peer can make thousands
// in a second. The zero value is ready for use.
type refusals struct {
	mu   sync.Mutex
	of   map[netip.Prefix]int // lines by address; nil: none in the latest refusalsEvery
	all  int
	more map[Outcome]int // that had no line
}

// take reports whether a refusal has a line. say is called with those that had none, when
// refusalsEvery is over or ctx is done.
func (x *refusals) take(ctx context.Context, host netip.Prefix, o Outcome, say func(Outcome, int)) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.of == nil {
		x.of, x.all, x.more = map[netip.Prefix]int{}, 0, map[Outcome]int{}
		ctx, cancel := context.WithTimeout(ctx, refusalsEvery)
		context.AfterFunc(ctx, func() {
			cancel()
			x.mu.Lock()
			more := x.more
			x.of, x.more = nil, nil
			x.mu.Unlock()
			for o, n := range more {
				say(o, n)
			}
		})
	}
	if x.all == maxRefusals || x.of[host] == maxOfAddress {
		x.more[o]++
		return false
	}
	x.all++
	x.of[host]++
	return true
}

// Refused counts a refused session, and logs it unless there were many: then how many more
// of a reason there were is logged after 10 s.
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
