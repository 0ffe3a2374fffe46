package relay

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hooks"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/push"
)

// pushesEvery is how often the states of pushes are looked at: a push that is behind may
// change with every frame, and each change would be an event.
const pushesEvery = 500 * time.Millisecond

// pushKey is one stream on its way to one target.
type pushKey struct{ stream, target, id string }

// A pushWatch reports the states of pushes when they change. It belongs to one goroutine.
type pushWatch struct {
	report hooks.Reporter
	list   func() []push.Status
	states map[pushKey]string // at the latest look
}

// run looks until ctx is done.
func (w *pushWatch) run(ctx context.Context) {
	tick := time.NewTicker(pushesEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.look(w.list())
		}
	}
}

// look reports what is different from the latest look. A push that tries again has no new
// state until that has failed or succeeded.
func (w *pushWatch) look(list []push.Status) {
	now := make(map[pushKey]string, len(list))
	for _, q := range list {
		k := pushKey{q.Stream, q.Target, q.ID}
		was := w.states[k]
		if now[k] = q.State; q.State == push.Connecting && was != "" {
			now[k] = was
		}
		if now[k] == was || now[k] == push.Connecting {
			continue
		}
		failure := ""
		if q.State == push.Waiting || q.State == push.Refused {
			failure = q.Error
		}
		w.report.PushChanged(q.Stream, q.Target, q.State, failure)
	}
	w.states = now
}
