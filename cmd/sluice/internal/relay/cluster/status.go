package cluster

import (
	"fmt"
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

// recent is how long a message that was refused counts as a problem.
const recent = time.Minute

// refusals says what is wrong when messages are refused at the time; else nothing.
func refusals(r transport.Refusal, now time.Time) string {
	ago := now.Sub(r.At)
	if r.Err == nil || ago >= recent {
		return ""
	}
	return fmt.Sprintf("messages are refused, the latest %v ago: %v", ago.Round(time.Second), r.Err)
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
	if !s.Connected {
		s.Problems = append(s.Problems, "NATS is out of reach: what is known of other nodes is old")
	}
	if text := refusals(t.LastRefusal, now); text != "" {
		s.Problems = append(s.Problems, text)
	}
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
