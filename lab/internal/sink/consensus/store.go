package consensus

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/lab/internal/sink"
)

const (
	queueBytes   = 64 << 20        // payload that may wait in the queue
	drainTimeout = 5 * time.Second // of Close, for what was appended
	underWay     = 1               // entries that raft has at a time
	// An entry waits for its companions for this part of the time that the one
	// before took.
	lingerShare  = 8
	lingerMost   = 2 * time.Millisecond
	batchRecords = 1 << 16 // of an entry
	probe        = 5 * time.Millisecond
)

// A Store is a sink.Store that acknowledges records when a majority of the nodes
// has them on disk. Records of all callers that come while entries are under way
// share the next one.
type Store struct {
	options Options
	nodes   []*node // one, or the three of a trio, some of which may be out
	ctx     context.Context
	cancel  context.CancelFunc
	window  string

	mu      sync.Mutex
	room    sync.Cond // queued has become less, or the store closes
	work    sync.Cond // there is something in the queue, or the store closes
	queue   []request
	queued  int // bytes
	waiting int // records
	last    int // records of the entry before
	linger  time.Duration
	closing bool

	slots    chan struct{} // one for each entry that is under way
	batches  chan proposal
	running  sync.WaitGroup
	closed   sync.Once
	closeErr error
	opened   atomic.Bool // nodes does not change any more
	failing  sync.Once
	failed   chan struct{}

	counts counts
}

var _ sink.Store = (*Store)(nil)

// A request is one Append.
type request struct {
	records []sink.Record
	bytes   int
	done    func(first uint64, err error)
}

func (r *request) release() {
	for i := range r.records {
		r.records[i].Release()
	}
}

// Open opens or makes the node, or the three, that the options describe. It does
// not wait for a leader. Two of three nodes are enough for a trio; a single one that
// cannot be opened is an error, which wraps what wal or the system say.
func Open(o Options) (*Store, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	s := &Store{options: o.withDefaults(), slots: make(chan struct{}, underWay), batches: make(chan proposal, underWay), failed: make(chan struct{})}
	s.options.onFail = s.checkNodes
	s.room.L, s.work.L = &s.mu, &s.mu
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if err := s.openNodes(); err != nil {
		s.cancel()
		return nil, err
	}
	s.opened.Store(true)
	s.checkNodes()
	s.window = s.describe()
	s.running.Go(s.propose)
	s.running.Go(s.complete)
	return s, nil
}

func (s *Store) openNodes() error {
	o := &s.options
	if !o.Trio {
		listener, err := listen(o.bind(o.ID))
		if err != nil {
			return fmt.Errorf("consensus: node %s: %w", o.ID, err)
		}
		addrs := make(map[string]string)
		for _, p := range o.Peers {
			addrs[p.ID] = p.Addr
		}
		n, err := openNode(o, o.ID, o.Dir, listener, func(id string) string { return addrs[id] })
		if err != nil {
			return fmt.Errorf("consensus: %w", err)
		}
		s.nodes = []*node{n}
		return nil
	}
	// All listen before any runs, so that each can reach the others at once.
	addrs := make(map[string]string)
	listeners := make(map[string]*streams)
	for _, p := range o.Peers {
		l, err := listen(o.bind(p.ID))
		if err != nil {
			for _, l := range listeners {
				l.Close()
			}
			return fmt.Errorf("consensus: node %s: %w", p.ID, err)
		}
		listeners[p.ID], addrs[p.ID] = l, l.Addr().String()
	}
	var errs []error
	for _, p := range o.Peers {
		n, err := openNode(o, p.ID, filepath.Join(o.Dir, p.ID), listeners[p.ID], func(id string) string { return addrs[id] })
		if err != nil {
			errs = append(errs, err)
			n.fail(err)
		}
		s.nodes = append(s.nodes, n)
	}
	if len(errs) > (len(o.Peers)-1)/2 {
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
	if len(records) == 0 {
		panic("consensus: an append of no records")
	}
	r := request{records: append([]sink.Record(nil), records...), done: done}
	for i := range r.records {
		r.bytes += r.records[i].Len()
	}
	if err := s.enqueue(r); err != nil {
		r.release()
		done(0, err)
	}
}

func (s *Store) enqueue(r request) error {
	if r.bytes > MaxBatch || len(r.records) > batchRecords {
		return fmt.Errorf("%w: %d records of %d bytes, %d of %d are the limit", ErrTooLong, len(r.records), r.bytes, batchRecords, MaxBatch)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.closing && s.queued > 0 && s.queued+r.bytes > queueBytes {
		s.room.Wait()
	}
	if s.closing {
		return ErrClosed
	}
	s.queue = append(s.queue, r)
	s.queued += r.bytes
	s.waiting += len(r.records)
	s.work.Signal()
	return nil
}

// take waits for requests and takes those that fit into one entry, at least one;
// none when the store closes and all are taken.
func (s *Store) take() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) == 0 && !s.closing {
		s.work.Wait()
	}
	s.lingerLocked()
	n, bytes, records := 0, 0, 0
	for ; n < len(s.queue); n++ {
		r := &s.queue[n]
		if n > 0 && (bytes+r.bytes > s.options.BatchBytes || records+len(r.records) > batchRecords) {
			break
		}
		bytes, records = bytes+r.bytes, records+len(r.records)
	}
	return s.drop(n)
}

// lingerLocked waits a moment for as many records as the entry before had: clients
// that wait for their answers have just got them, and the first of their next records
// would go alone.
func (s *Store) lingerLocked() {
	if s.linger == 0 || s.waiting >= s.last || s.closing {
		return
	}
	over := false
	timer := time.AfterFunc(s.linger, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		over = true
		s.work.Signal()
	})
	defer timer.Stop()
	for !over && !s.closing && s.waiting < s.last && s.queued < s.options.BatchBytes {
		s.work.Wait()
	}
}

// took records the size and duration of an entry, from which the wait of the next one follows.
func (s *Store) took(records int, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.linger = records, min(d/lingerShare, lingerMost)
}

// takeAll takes everything that waits.
func (s *Store) takeAll() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drop(len(s.queue))
}

func (s *Store) drop(n int) []request {
	taken := append([]request(nil), s.queue[:n]...)
	rest := copy(s.queue, s.queue[n:])
	clear(s.queue[rest:])
	s.queue = s.queue[:rest]
	for i := range taken {
		s.queued -= taken[i].bytes
		s.waiting -= len(taken[i].records)
	}
	s.room.Broadcast()
	return taken
}

// Close finishes what was appended, for at most 5 s, hands the leadership over,
// for at most 2 s, and stops the nodes, which takes at most 5 s more.
func (s *Store) Close() error {
	s.closed.Do(func() {
		s.mu.Lock()
		s.closing = true
		s.room.Broadcast()
		s.work.Broadcast()
		s.mu.Unlock()
		drained := make(chan struct{})
		go func() {
			s.running.Wait()
			close(drained)
		}()
		patience := time.NewTimer(drainTimeout)
		defer patience.Stop()
		select {
		case <-drained:
		case <-patience.C:
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
		s.closeErr = s.failure()
	})
	return s.closeErr
}

// Failed is closed when the store takes nothing any more, for the reason that
// Err gives: the node is out, or with a trio two of them are.
func (s *Store) Failed() <-chan struct{} { return s.failed }

// Err is an ErrFailed once the store takes nothing any more, and nil before.
func (s *Store) Err() error { return s.failure() }

// checkNodes is called when a node is out.
func (s *Store) checkNodes() {
	if s.opened.Load() && s.failure() != nil {
		s.failing.Do(func() { close(s.failed) })
	}
}

// failure is why the store takes nothing any more, nil while it does: a majority of
// what runs here is out.
func (s *Store) failure() error {
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
