package relay

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/push"
)

// pushesEvery is how often the states of pushes are looked at: a push that is behind may
// change with every frame, and each change would be an event.
const pushesEvery = 500 * time.Millisecond

// pushKey is one stream on its way to one target.
type pushKey struct{ stream, target, id string }

// watchPushes reports the states of pushes when they change, until ctx is done.
func (s *Server) watchPushes(ctx context.Context) {
	tick := time.NewTicker(pushesEvery)
	defer tick.Stop()
	states := map[pushKey]string{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			states = s.reportPushes(states, s.outbound.pusher.List())
		}
	}
}

// reportPushes reports what is different from before, and returns the states now. A push
// that tries again has no new state until that has failed or succeeded.
func (s *Server) reportPushes(before map[pushKey]string, list []push.Status) map[pushKey]string {
	now := make(map[pushKey]string, len(list))
	for _, q := range list {
		k := pushKey{q.Stream, q.Target, q.ID}
		was := before[k]
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
		s.report.PushChanged(q.Stream, q.Target, q.State, failure)
	}
	return now
}
