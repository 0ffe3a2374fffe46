package cluster

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster/directory"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster/transport"
)

// A Status is the cluster as one node sees it.
type Status struct {
	Node      string                 `json:"node"`
	Connected bool                   `json:"connected"` // to NATS
	Links     int                    `json:"links"`     // connections to other nodes, or to NATS
	Sent      int64                  `json:"sent"`      // bytes of control messages
	Received  int64                  `json:"received"`
	Refused   int64                  `json:"refused"` // messages that were not of the cluster
	Nodes     []directory.NodeStatus `json:"nodes"`
	Streams   []directory.Holding    `json:"streams"`
	Problems  []string               `json:"problems"`
}

// recent is how long something that failed counts as a problem.
const recent = time.Minute

// lately says what is wrong when it was lately; else nothing.
func lately(what string, f transport.Fault, now time.Time) (list []string) {
	if ago := now.Sub(f.At); f.Err != nil && ago < recent {
		list = append(list, fmt.Sprintf("%s, the latest %v ago: %v", what, ago.Round(time.Second), f.Err))
	}
	return list
}

// problems are those of the connections. The lock is held.
func (n *Node) problems(s *Status, t transport.Stats, now time.Time) (list []string) {
	switch {
	case s.Connected:
		list = lately("NATS has failed", t.LastError, now)
	case t.LastError.Err != nil:
		list = append(list, fmt.Sprintf("NATS is out of reach (%v): what is known of other nodes is old", t.LastError.Err))
	default:
		list = append(list, "NATS is out of reach: what is known of other nodes is old")
	}
	if len(n.options.Join) > 0 && s.Links == 0 {
		list = append(list, "no other node is connected: none of those to join, "+strings.Join(n.options.Join, ", ")+", is within reach and has the same secret")
	}
	for _, o := range s.Nodes {
		list = append(list, lately(fmt.Sprintf("node %s cannot be pulled from at %s", o.Name, o.URL), n.failed[o.Name], now)...)
	}
	return append(list, lately("messages are refused", t.LastRefusal, now)...)
}

// Status returns what this node knows.
func (n *Node) Status() Status {
	now := time.Now()
	t := n.transport.Stats()
	s := Status{Node: n.options.Name, Connected: n.transport.Connected(), Links: n.transport.Links(), Sent: t.Sent, Received: t.Received, Refused: t.Refused}
	n.mu.Lock()
	defer n.mu.Unlock()
	s.Nodes, s.Streams, s.Problems = n.dir.Nodes(now), n.dir.Holdings(""), n.dir.Problems(now)
	if s.Streams == nil {
		s.Streams = []directory.Holding{}
	}
	if s.Problems == nil {
		s.Problems = []string{}
	}
	s.Problems = append(s.Problems, n.problems(&s, t, now)...)
	return s
}

// Pulls returns how many of the streams are pulled from another node.
func (s *Status) Pulls() (n int) {
	for i := range s.Streams {
		if s.Streams[i].Level > 0 {
			n++
		}
	}
	return n
}
