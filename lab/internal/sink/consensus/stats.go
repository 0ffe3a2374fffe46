package consensus

import "fmt"

// Stats are a store's figures since it was opened.
type Stats struct {
	Leader string      `json:"leader"` // name, empty when there is none
	Term   uint64      `json:"term"`   // the highest that is known here
	Last   uint64      `json:"last"`   // number of the last record of the log that has most
	Nodes  []NodeStats `json:"nodes"`  // that run here
}

// NodeStats are those of one node.
type NodeStats struct {
	ID        string `json:"id"`
	Addr      string `json:"addr"`  // that its raft listens on
	State     string `json:"state"` // Leader, Follower, Candidate, Shutdown, or out
	Term      uint64 `json:"term"`
	Last      uint64 `json:"last"`                // record of its log
	Applied   uint64 `json:"applied"`             // raft entry
	Recovered string `json:"recovered,omitempty"` // what was cut off its log when it was opened
	Error     string `json:"error,omitempty"`     // why it is out
}

// Stats returns the figures of now.
func (s *Store) Stats() Stats {
	var all Stats
	for _, n := range s.nodes {
		one := n.stats()
		all.Nodes = append(all.Nodes, one)
		all.Last = max(all.Last, one.Last)
		if n.raft == nil || one.Error != "" {
			continue
		}
		if _, id := n.raft.LeaderWithID(); id != "" && one.Term >= all.Term {
			all.Leader = string(id)
		}
		all.Term = max(all.Term, one.Term)
	}
	return all
}

func (n *node) stats() NodeStats {
	s := NodeStats{ID: n.id, Addr: n.layer.Addr().String(), State: "out"}
	if err := n.failure(); err != nil {
		s.Error = err.Error()
	}
	if n.entries != nil {
		s.Last = n.entries.lastRecord()
	}
	if n.found.Cut > 0 {
		s.Recovered = fmt.Sprintf("%d bytes cut from %s: %s", n.found.Cut, n.found.Segment, n.found.Reason)
	}
	if n.raft != nil {
		s.Term, s.Applied = n.raft.CurrentTerm(), n.raft.AppliedIndex()
		if s.Error == "" {
			s.State = n.raft.State().String()
		}
	}
	return s
}

// Window says what an acknowledgement promises.
func (s *Store) Window() string { return s.window }

func (s *Store) describe() string {
	n := len(s.options.Peers)
	if s.options.Trio {
		return fmt.Sprintf("raft: acknowledged when %d of %d nodes, all in this process, have synced; no kill and no power cut loses that, the loss of the disk they share does", n/2+1, n)
	}
	disks := []string{"one disk", "two disks", "three disks"}[(n-MinPeers)/2]
	return fmt.Sprintf("raft: acknowledged when %d of %d nodes have synced; no kill and no power cut loses that, nor does the loss of %s", n/2+1, n, disks)
}
