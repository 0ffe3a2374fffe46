package consensus

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// A proposal is an entry that raft has.
type proposal struct {
	requests []request
	records  int
	began    time.Time
	node     *node
	future   raft.ApplyFuture
}

// propose gives what comes to raft, entry after entry. It is one goroutine, so
// that records are numbered in the order of the calls.
func (s *Store) propose() {
	defer close(s.batches)
	for {
		s.slots <- struct{}{}
		requests := s.take()
		if len(requests) == 0 {
			return
		}
		n, err := s.leader()
		if err != nil {
			// It is no other for what has come meanwhile.
			s.refuse(append(requests, s.takeAll()...), err)
			<-s.slots
			continue
		}
		p := proposal{requests: requests, node: n, began: time.Now()}
		entry := encode(requests)
		for i := range requests {
			p.records += len(requests[i].records)
		}
		p.future = n.raft.Apply(entry, s.options.LeaderWait)
		s.batches <- p
	}
}

// encode makes the data of an entry and releases the records.
func encode(requests []request) []byte {
	records, bytes := 0, 0
	for i := range requests {
		records += len(requests[i].records)
		bytes += requests[i].bytes
	}
	sizes := make([]int, 0, records)
	for i := range requests {
		for _, r := range requests[i].records {
			sizes = append(sizes, r.Len())
		}
	}
	data := appendSizes(make([]byte, 0, countLength+sizeLength*records+bytes), sizes)
	for i := range requests {
		for j := range requests[i].records {
			data = append(data, requests[i].records[j].Bytes()...)
			requests[i].records[j].Release()
		}
	}
	return data
}

// leader returns the node of this process that leads, or a NotLeaderError when another
// process has the leader. While no node leads it waits, for at most
// Options.LeaderWait and until the store is closed.
func (s *Store) leader() (*node, error) {
	var deadline <-chan time.Time
	for {
		if err := s.failure(); err != nil {
			return nil, err
		}
		var best *node
		elsewhere := &NotLeaderError{Node: s.nodes[0].id}
		for _, n := range s.nodes {
			if n.failure() != nil {
				continue
			}
			// Of two that say so one has not heard of its successor.
			if n.raft.State() == raft.Leader && (best == nil || n.raft.CurrentTerm() > best.raft.CurrentTerm()) {
				best = n
			}
			_, id := n.raft.LeaderWithID()
			elsewhere.Leader, elsewhere.Addr = string(id), n.addr(string(id))
		}
		if best != nil {
			return best, nil
		}
		if !s.options.Trio && elsewhere.Leader != "" && elsewhere.Leader != s.options.ID {
			return nil, elsewhere
		}
		if deadline == nil {
			timer := time.NewTimer(s.options.LeaderWait)
			defer timer.Stop()
			deadline = timer.C
		}
		again := time.NewTimer(probe)
		select {
		case <-again.C:
		case <-deadline:
			again.Stop()
			return nil, &NotLeaderError{Node: elsewhere.Node}
		case <-s.ctx.Done():
			again.Stop()
			return nil, ErrClosed
		}
	}
}

func (s *Store) refuse(requests []request, err error) {
	s.counts.refused.Add(uint64(len(requests)))
	for i := range requests {
		requests[i].release()
		requests[i].done(0, err)
	}
}

// complete passes the results of their records to the callers, in order.
func (s *Store) complete() {
	for p := range s.batches {
		first, err := s.wait(p)
		s.took(p.records, time.Since(p.began))
		<-s.slots
		if err != nil {
			s.counts.failed.Add(uint64(len(p.requests)))
		} else {
			s.counts.acknowledged.Add(uint64(p.records))
			s.counts.entries.Add(1)
		}
		for i := range p.requests {
			r := &p.requests[i]
			if err != nil {
				r.done(0, err)
				continue
			}
			r.done(first, nil)
			first += uint64(len(r.records))
		}
	}
}

// wait waits for raft. The future of an entry that was committed and not applied
// when raft ended never comes.
func (s *Store) wait(p proposal) (first uint64, err error) {
	result := make(chan error, 1)
	go func() { result <- p.future.Error() }()
	select {
	case err = <-result:
	case <-p.node.stopped:
		select {
		case err = <-result:
		default:
			err = raft.ErrRaftShutdown
		}
	}
	if err == nil {
		a := p.future.Response().(applied)
		if a.err == nil {
			return a.first, nil
		}
		err = a.err
	}
	if out := p.node.failure(); out != nil {
		err = errors.Join(out, err)
		if s.failure() == nil { // the others of a trio go on
			err = fmt.Errorf("%w: node %s is out", ErrInDoubt, p.node.id)
		}
		return 0, err
	}
	switch {
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress), errors.Is(err, raft.ErrEnqueueTimeout):
		_, id := p.node.raft.LeaderWithID()
		return 0, &NotLeaderError{Node: p.node.id, Leader: string(id), Addr: p.node.addr(string(id))}
	case errors.Is(err, raft.ErrRaftShutdown):
		return 0, fmt.Errorf("%w: while the records were under way: %w", ErrClosed, ErrInDoubt)
	}
	return 0, fmt.Errorf("%w: %w", ErrInDoubt, err)
}
