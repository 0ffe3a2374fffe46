package consensus

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/internal/testdisk"
)

// A node gets what it lacks however long the line takes for a message of 16 entries: here more
// than twice as long as a peer has to answer.
func TestNodeCatchesUpOverASlowLine(t *testing.T) {
	t.Parallel()
	const entry, bandwidth = 512 << 10, 3 << 20
	fast, slow := newFollower(t, "b", 0), newFollower(t, "c", bandwidth)
	s, err := Open(Options{
		Dir: testdisk.Dir(t), ID: "a", Peers: []Peer{{"a", loopback.Free(t)}, fast.peer, slow.peer},
		heartbeat: soon, leaderWait: time.Second, Log: testLog(t), rpcTimeout: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := &cluster{t: t, stores: []*Store{s}}
	l := newLedger()
	for n := range messageEntries + 4 {
		c.mustPut(l, fmt.Sprint(n, strings.Repeat("x", entry)))
	}
	eventually(t, func() string {
		if have, want := slow.last.Load(), s.nodes[0].log.LastIndex(); have < want {
			return fmt.Sprintf("it has entry %d of %d", have, want)
		}
		return ""
	})
}
