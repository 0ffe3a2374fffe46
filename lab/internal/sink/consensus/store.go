package consensus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/lab/internal/sink"
	"github.com/sluice-go/sluice/lab/internal/units"
)

const (
	drainTimeout = 5 * time.Second // of Close, for what was appended
	batchRecords = 1 << 16         // of an entry
	lingerMost   = 2 * time.Millisecond
	probe        = 5 * time.Millisecond
)

// A Store is a sink.Store that acknowledges records when a majority of the nodes
// has them on disk. Records of all callers that come while an entry is under way
// share the next one: it is a sink.Sync, whose log is raft.
type Store struct {
	options Options
	nodes   []*node // one, or the three of a trio, some of which may be out
	ctx     context.Context
	cancel  context.CancelFunc
	window  string
	sync    *sink.Sync

	close   func() error // once
	opened  atomic.Bool  // nodes does not change any more
	failing sync.Once
	failed  chan struct{}
}

var _ sink.Store = (*Store)(nil)

// Open opens or makes the node, or the three, that the options describe. It does
// not wait for a leader. Two of three nodes are enough for a trio; a single one that
// cannot be opened is an error, which wraps what wal or the system say.
func Open(o Options) (*Store, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	s := &Store{options: o.withDefaults(), failed: make(chan struct{})}
	s.options.onFail = s.checkNodes
	s.close = sync.OnceValue(s.end)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if err := s.openNodes(); err != nil {
		s.cancel()
		return nil, err
	}
	s.opened.Store(true)
	s.checkNodes()
	s.window = s.describe()
	s.sync = sink.NewLingering(proposer{s}, lingerMost)
	return s, nil
}

func (s *Store) openNodes() error {
	o := &s.options
	addrs := make(map[string]string)
	for _, p := range o.Peers {
		addrs[p.ID] = p.Addr
	}
	// All listen before any runs, so that each can reach the others at once.
	var listeners []net.Listener
	here := o.here()
	for _, p := range here {
		l, err := net.Listen("tcp", p.Addr)
		if err != nil {
			for _, l := range listeners {
				l.Close()
			}
			return fmt.Errorf("consensus: node %s: %w", p.ID, err)
		}
		listeners = append(listeners, l)
		if o.Trio {
			addrs[p.ID] = l.Addr().String()
		}
	}
	var errs []error
	for i, p := range here {
		dir := o.Dir
		if o.Trio {
			dir = filepath.Join(dir, p.ID)
		}
		n, err := openNode(o, p.ID, dir, listeners[i], func(id string) string { return addrs[id] })
		if err != nil {
			errs = append(errs, err)
			if o.Trio {
				n.fail(err) // the others go on
			}
		}
		s.nodes = append(s.nodes, n)
	}
	if len(errs) > (len(here)-1)/2 {
		for _, n := range s.nodes {
			n.stop()
		}
		return fmt.Errorf("consensus: %w", errors.Join(errs...))
	}
	return nil
}

// Append takes records, transferred, and calls done when a majority of the nodes
// has them on disk, with the number of the first in every node's log; or with an error
// that matches ErrNotLeader, ErrInDoubt, ErrClosed, ErrFailed or ErrTooLong. It waits
// while 64 MiB are waiting.
func (s *Store) Append(records []sink.Record, done func(first uint64, err error)) {
	if bytes := sink.Payload(records); bytes > MaxBatch || len(records) > batchRecords {
		sink.Release(records)
		done(0, fmt.Errorf("%w: %d records of %d bytes, %d of %d are the limit", ErrTooLong, len(records), bytes, batchRecords, MaxBatch))
		return
	}
	s.sync.Append(records, done)
}

// Close finishes what was appended, for at most 5 s, hands the leadership over,
// for as long as an election may take, and stops the nodes, which takes at most 5 s more.
func (s *Store) Close() error { return s.close() }

func (s *Store) end() error {
	drained := make(chan struct{})
	go func() {
		s.sync.Close() // what has failed is in failure
		close(drained)
	}()
	select {
	case <-drained:
	case <-time.After(drainTimeout):
	}
	s.cancel()
	var stopping sync.WaitGroup
	for _, n := range s.nodes {
		stopping.Go(func() {
			if !s.options.Trio {
				n.handOver()
			}
			n.stop()
		})
	}
	stopping.Wait()
	<-drained
	return s.Err()
}

// Failed is closed when the store takes nothing any more, for the reason that
// Err gives: the node is out, or with a trio two of them are.
func (s *Store) Failed() <-chan struct{} { return s.failed }

func (s *Store) checkNodes() {
	if s.opened.Load() && s.Err() != nil {
		s.failing.Do(func() { close(s.failed) })
	}
}

// Err is an ErrFailed once the store takes nothing any more, since a majority of what runs here is
// out, and nil before.
func (s *Store) Err() error {
	var errs []error
	for _, n := range s.nodes {
		if err := n.failure(); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > (len(s.nodes)-1)/2 {
		return errors.Join(errs...)
	}
	return nil
}

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
	State     string `json:"state"` // Leader, Follower, Candidate, Shutdown, hung, or out
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
		if n.raft == nil || one.Error != "" || one.State == "hung" {
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
		s.Recovered = fmt.Sprintf("%s cut from %s: %s", units.Plural(n.found.Cut, "byte"), n.found.Segment, n.found.Reason)
	}
	if n.raft != nil {
		s.Term, s.Applied = n.raft.CurrentTerm(), n.raft.AppliedIndex()
		if s.Error == "" {
			s.State = n.raft.State().String()
			if n.hung() != nil {
				s.State = "hung"
			}
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
