//go:build linux

package realtest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/loopback"
)

// A cluster is three processes with a node each.
type cluster struct {
	t     testing.TB
	dir   string
	names []string
	peers string
	addrs []string // that clients dial
	flags []string
	dirs  []string
	nodes []*sink // nil while one is down
}

func newCluster(t testing.TB, flags ...string) *cluster {
	c := &cluster{t: t, dir: t.TempDir(), names: []string{"a", "b", "c"}, flags: flags, nodes: make([]*sink, 3)}
	// Addresses must be known before any node listens, and stay the same when a node is
	// started again.
	var peers []string
	for i := range 6 {
		address := loopback.Free(t)
		if i < 3 {
			peers = append(peers, c.names[i]+"="+address)
			c.dirs = append(c.dirs, filepath.Join(c.dir, c.names[i]))
		} else {
			c.addrs = append(c.addrs, address)
		}
	}
	c.peers = strings.Join(peers, ",")
	return c
}

func (c *cluster) start(nodes ...int) {
	c.t.Helper()
	for _, i := range nodes {
		flags := append([]string{"--durability", "raft", "--id", c.names[i], "--peers", c.peers}, c.flags...)
		c.nodes[i] = startSink(c.t, c.names[i], c.addrs[i], c.dirs[i], flags...)
	}
}

func (c *cluster) kill(i int) {
	c.nodes[i].kill()
	c.nodes[i] = nil
}

// leader waits until a node says that it leads.
func (c *cluster) leader() int {
	c.t.Helper()
	found := -1
	eventually(c.t, lengthened(20*time.Second), func() string {
		for i, s := range c.nodes {
			if s == nil {
				continue
			}
			if nodes := s.stats(c.t).Raft.Nodes; len(nodes) == 1 && nodes[0].State == "Leader" {
				found = i
				return ""
			}
		}
		return "nobody leads"
	})
	return found
}

// settle waits until all that run have what was acknowledged. They may have
// more, and not all of them the same: what was under way when clients ended.
func (c *cluster) settle(l *ledger) {
	c.t.Helper()
	want := l.last()
	eventually(c.t, lengthened(30*time.Second), func() string {
		for _, s := range c.nodes {
			if s == nil {
				continue
			}
			if now := s.stats(c.t); len(now.Raft.Nodes) != 1 || now.Raft.Nodes[0].Last < want {
				return fmt.Sprintf("node %s has not all %d records: %+v", s.name, want, now)
			}
		}
		return ""
	})
}

// term ends all nodes as an operator would.
func (c *cluster) term() {
	c.t.Helper()
	for i, s := range c.nodes {
		if s != nil {
			s.term(c.t)
			c.nodes[i] = nil
		}
	}
}
