package consensus

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

// When the disk of the leader hangs, another node leads, and who has asked the leader gets an
// answer. When it works again the node goes on.
func TestHungDiskOfTheLeader(t *testing.T) {
	disks := map[string]*smallDisk{"a": {}, "b": {}, "c": {}}
	for _, d := range disks {
		d.room.Store(1 << 40)
	}
	c := newCluster(t, func(o *Options) {
		o.fs = func(node string) wal.FS { return disks[node] }
	})
	c.start(0, 1, 2)
	l := newLedger()
	c.mustPut(l, "before")
	first := c.leader()
	hung, disk := c.stores[first], disks[c.peers[first].ID]
	disk.hangs.Lock()
	asked := make(chan error, 1)
	go func() {
		_, err := put(hung, "in doubt")
		asked <- err
	}()
	eventually(t, func() string {
		for i, s := range c.stores {
			if i != first && s.Stats().Nodes[0].State == "Leader" {
				return ""
			}
		}
		return fmt.Sprintf("no other node leads: %+v", hung.Stats())
	})
	if err := <-asked; !errors.Is(err, ErrInDoubt) {
		t.Errorf("who asked the node whose disk hangs hears %v", err)
	}
	if n := hung.Stats().Nodes[0]; n.State != "hung" {
		t.Errorf("the node says %+v", n)
	}
	if _, err := put(hung, "refused"); !errors.Is(err, ErrNotLeader) {
		t.Errorf("who asks it then hears %v", err)
	}
	c.mustPut(l, "while it hangs")
	disk.hangs.Unlock()
	c.mustPut(l, "after")
	c.check(l)
}
