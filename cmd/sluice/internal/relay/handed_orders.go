package relay

import (
	"cmp"
	"errors"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/handover"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/push"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// Kinds of what was ordered over the API, and no setting says: each is needed only where
// there is something of it.
const (
	bansKind       = "bans/1"
	pushesKind     = "pushes/1"
	recordingsKind = "recordings/1"
)

// handedBans are all bans that there are.
type handedBans struct {
	Bans []access.Ban `json:"bans"`
}

// handedRecordings are the streams whose recording was begun, or ended.
type handedRecordings struct {
	Ordered map[string]bool `json:"ordered"`
}

// handedOrders are what was ordered over the API.
type handedOrders struct {
	host *session.Host // has the bans
	to   *outbound     // has the pushes and recordings
}

// some are the kinds of which something was ordered.
func (o handedOrders) some() map[string]bool {
	return map[string]bool{
		bansKind:       len(o.host.Gate.Bans()) > 0,
		pushesKind:     len(o.to.pusher.Added()) > 0,
		recordingsKind: len(o.to.recorders.orders()) > 0,
	}
}

// send sends what was ordered, and the states of all pushes, to a process that can take
// over these kinds.
func (o handedOrders) send(c *handover.Conn, kinds []string) (err error) {
	send := func(kind string, message handover.Kind, some bool, state any) {
		if err == nil && some && slices.Contains(kinds, kind) {
			err = c.Send(message, state, nil, nil)
		}
	}
	bans, pushes, recordings := o.host.Gate.Bans(), o.to.pusher.State(), o.to.recorders.orders()
	send(bansKind, handover.KindBans, len(bans) > 0, handedBans{bans})
	send(pushesKind, handover.KindPushes, len(pushes.Added)+len(pushes.Pushes) > 0, pushes)
	send(recordingsKind, handover.KindRecordings, len(recordings) > 0, handedRecordings{recordings})
	return err
}

// arrivedOrders are what the predecessor's API has ordered.
type arrivedOrders struct {
	bans       handedBans
	pushes     push.State
	recordings handedRecordings
}

// take reads a message of them. It reports false for one of another kind.
func (a *arrivedOrders) take(m *handover.Message) (ok bool, err error) {
	switch m.Kind {
	case handover.KindBans:
		err = m.Into(&a.bans)
	case handover.KindPushes:
		err = m.Into(&a.pushes)
	case handover.KindRecordings:
		err = m.Into(&a.recordings)
	default:
		return false, nil
	}
	return true, err
}

// resume makes those of the predecessor this server's, whose streams are there and do not
// go on yet.
func (o handedOrders) resume(a *arrivedOrders) {
	var bans error
	if len(a.bans.Bans) > 0 {
		bans = o.host.Gate.ResumeBans(a.bans.Bans)
	}
	recordings := o.to.recorders.resume(a.recordings.Ordered)
	pushes := o.to.pusher.Resume(a.pushes)
	if err := cmp.Or(bans, recordings, pushes); err != nil {
		o.host.Log.Error("not everything that was ordered over the API was taken over as it was", "error", errors.Join(bans, recordings, pushes))
	}
}
