package consensus

import (
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// hungAfter is for how many heartbeats' time the disk of a leader may have an entry: then the
// leader stops to say that it leads, so that the others elect one whose disk works. Raft itself
// goes on saying so, for as long as the disk hangs, while nothing is acknowledged. Disks that are
// only slow take seconds, and a follower waits for one heartbeat more.
const hungAfter = 5

// hung is the error of a disk that hangs, nil while it does not. When it works again the node goes
// on, as a follower.
func (n *node) hung() error {
	if stuck := n.entries.stuck(); stuck > hungAfter*n.heartbeat {
		return fmt.Errorf("the disk of node %s has not stored an entry for %v", n.id, stuck.Round(time.Second/10))
	}
	return nil
}

type voice struct {
	*raft.NetworkTransport
	hung func() error
}

// AppendEntries is raft's, for entries and for heartbeats.
func (v voice) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	if err := v.hung(); err != nil {
		return err
	}
	return v.NetworkTransport.AppendEntries(id, target, args, resp)
}
