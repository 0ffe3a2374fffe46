package consensus

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// A proposer is the log of a store's sink.Sync: it makes entries of records, gives them
// to raft one after the other, and waits until each is committed.
type proposer struct{ *Store }

// A passing error is one after which the store goes on.
type passing struct{ error }

func (p passing) Temporary() bool { return true }
func (p passing) Unwrap() error   { return p.error }

// AppendBatch appends records, borrowed until it returns, and returns the number of
// the first. The records have numbers without a gap also where they need several entries:
// if another leader's come between, the error is ErrInDoubt.
func (p proposer) AppendBatch(records [][]byte) (first uint64, err error) {
	for next := uint64(0); len(records) > 0; {
		n, bytes := 0, 0
		for n < len(records) && (n == 0 || n < batchRecords && bytes+len(records[n]) <= p.options.batchBytes) {
			bytes += len(records[n])
			n++
		}
		at, err := p.propose(records[:n], bytes)
		switch {
		case err == nil && next > 0 && at != next:
			err = fmt.Errorf("%w: other records came between", ErrInDoubt)
		case err != nil && next > 0 && errors.Is(err, ErrNotLeader):
			err = fmt.Errorf("%w: %v", ErrInDoubt, err) // the entries before it are in the log
		}
		if err != nil {
			return 0, cmp.Or(p.Err(), error(passing{err}))
		}
		if next == 0 {
			first = at
		}
		next, records = at+uint64(n), records[n:]
	}
	return first, nil
}

func (p proposer) propose(records [][]byte, bytes int) (first uint64, err error) {
	n, err := p.leader()
	if err != nil {
		return 0, err
	}
	data := appendRecords(make([]byte, 0, countLength+sizeLength*len(records)+bytes), records)
	return p.wait(n, n.raft.Apply(data, p.options.leaderWait))
}

// Sync does nothing: what AppendBatch has appended is synced on a majority.
func (proposer) Sync() error { return nil }

// Close does nothing: the Store closes its nodes.
func (proposer) Close() error { return nil }

// leader returns the node of this process that leads, or an ErrNotLeader when another
// process has the leader. While no node leads it waits, for at most
// Options.leaderWait and until the store is closed.
func (s *Store) leader() (*node, error) {
	deadline := time.After(s.options.leaderWait)
	for {
		if err := s.Err(); err != nil {
			return nil, err
		}
		var best, other *node
		for _, n := range s.nodes {
			if n.failure() != nil {
				continue
			}
			// Of two that say so one has not heard of its successor.
			if n.hung() == nil && n.raft.State() == raft.Leader && (best == nil || n.raft.CurrentTerm() > best.raft.CurrentTerm()) {
				best = n
			}
			other = n
		}
		if best != nil {
			return best, nil
		}
		if other == nil {
			continue // all have just failed
		}
		if _, id := other.raft.LeaderWithID(); !s.options.Trio && (other.hung() != nil || id != "" && string(id) != other.id) {
			return nil, other.notLeader()
		}
		select {
		case <-time.After(probe):
		case <-deadline:
			return nil, other.notLeader()
		case <-s.ctx.Done():
			return nil, ErrClosed
		}
	}
}

func (n *node) notLeader() error {
	if err := n.hung(); err != nil {
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	}
	_, id := n.raft.LeaderWithID()
	if id == "" {
		return fmt.Errorf("%w: %s knows of none, an election is under way or there is no majority", ErrNotLeader, n.id)
	}
	return fmt.Errorf("%w: %s is not, %s at %s is", ErrNotLeader, n.id, id, n.addr(string(id)))
}

// wait waits for raft. The future of an entry that was committed and not applied
// when raft ended never comes.
func (s *Store) wait(n *node, future raft.ApplyFuture) (first uint64, err error) {
	result := make(chan error, 1)
	go func() { result <- future.Error() }()
	look := time.NewTicker(n.heartbeat)
	defer look.Stop()
waiting:
	for {
		select {
		case err = <-result:
			break waiting
		case <-look.C:
			if hung := n.hung(); hung != nil {
				return 0, fmt.Errorf("%w: %w", ErrInDoubt, hung)
			}
		case <-n.stopped:
			select {
			case err = <-result:
			default:
				err = raft.ErrRaftShutdown
			}
			break waiting
		}
	}
	if err == nil {
		a := future.Response().(applied)
		if a.err == nil {
			return a.first, nil
		}
		err = a.err
	}
	if out := n.failure(); out != nil {
		err = errors.Join(out, err)
		if s.Err() == nil { // the others of a trio go on
			err = fmt.Errorf("%w: node %s is out", ErrInDoubt, n.id)
		}
		return 0, err
	}
	switch {
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress), errors.Is(err, raft.ErrEnqueueTimeout):
		return 0, n.notLeader()
	case errors.Is(err, raft.ErrRaftShutdown):
		return 0, fmt.Errorf("%w: while the records were under way: %w", ErrClosed, ErrInDoubt)
	}
	return 0, fmt.Errorf("%w: %w", ErrInDoubt, err)
}
