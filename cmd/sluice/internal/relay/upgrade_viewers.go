package relay

import (
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// keyTime is for how long viewers that cannot be handed over are sent on until a key frame. A
// machine that stands still does not take that time away.
const keyTime = 4 * time.Second

// stays reports whether viewers of that protocol come back over a listener that can be
// paused: of others a server that has not let go yet would get them again.
func stays(protocol string) bool {
	switch protocol {
	case session.RTMPS, session.FLVS, session.WSS, session.RTSP, session.RTSPS:
		return true
	}
	return false
}

// endStaying ends viewers that cannot be handed over, of streams that can, at a key frame: who
// comes back begins with it, and misses nothing. That is with the successor: until then the
// listeners that they come to are paused.
func endStaying(h *session.Host, listeners *listeners) {
	all := h.Register.List()
	moves := map[string]bool{}
	for _, c := range all {
		if c.Role == session.RolePublisher && c.Mover() != nil {
			moves[c.Stream] = true
		}
	}
	var ending []*session.Client
	count := map[string]int{}
	for _, c := range all {
		if c.Role == session.RoleViewer && moves[c.Stream] && stays(c.Protocol) {
			ending = append(ending, c)
			count[c.Protocol]++
		}
	}
	if len(ending) == 0 {
		return
	}
	for _, l := range listeners.movable() {
		switch l.setting {
		case "rtmps", "https", "rtsp", "rtsps":
			l.pausing.Pause()
		}
	}
	h.Log.Info("viewers that cannot be handed over end at a key frame", "by protocol", count)
	for _, c := range ending {
		c.EndAtKey(session.ErrUpgrade)
	}
	tick := time.NewTicker(awaitStep)
	defer tick.Stop()
	awaitSteps(h.Ctx, tick.C, int(keyTime/awaitStep), func() bool {
		for _, c := range ending {
			if _, ok := h.Register.Get(c.ID); ok {
				return false
			}
		}
		return true
	})
}
