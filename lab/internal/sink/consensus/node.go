package consensus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"

	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

const (
	lockPatience     = time.Second      // for a directory that another process has
	handOverPatience = 2 * time.Second  // for a follower to take over
	shutdownPatience = 5 * time.Second  // for raft to end
	rpcPatience      = 10 * time.Second // for a peer to answer
	// Entries for each message to a follower that catches up, and entries that
	// the leader keeps in memory for its followers.
	messageEntries, cachedEntries = 16, 32
	keptSnapshots                 = 2
)

// A node is one of the cluster that runs in this process.
type node struct {
	id, dir string
	peers   []Peer
	log     *wal.Log
	found   wal.Recovery // what the log was like when it was opened
	disk    *disk
	streams *streams
	raft    *raft.Raft
	fsm     *fsm
	logger  *slog.Logger
	addr    func(id string) string // where the streams of a node are

	ctx     context.Context // ends with the node
	cancel  context.CancelFunc
	wanted  chan struct{} // snapshots
	running sync.WaitGroup
	stopped chan struct{} // raft has ended, or has been given up
	once    sync.Once     // of stop

	onFail func()

	mu     sync.Mutex
	opened bool  // it stops by itself when it fails
	out    error // why the node is out
}

// ServerAddr is raft's: the nodes of a trio have other ports each time, and those
// of a cluster may have moved.
func (n *node) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	if addr := n.addr(string(id)); addr != "" {
		return raft.ServerAddress(addr), nil
	}
	return "", fmt.Errorf("%s is not among the peers", id)
}

// openNode opens a node over streams, transferred, which it closes with
// everything else when it fails.
func openNode(o *Options, id, dir string, s *streams, addr func(string) string) (n *node, err error) {
	n = &node{
		id: id, dir: dir, peers: o.Peers, streams: s, addr: addr, onFail: o.onFail,
		logger:  o.Log.With("node", id),
		wanted:  make(chan struct{}, 1),
		stopped: make(chan struct{}),
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			n.stop()
			err = fmt.Errorf("node %s in %s: %w", id, dir, err)
		}
	}()
	logOptions := wal.Options{SegmentBytes: o.SegmentBytes, MaxRecord: MaxBatch}
	if o.fs != nil {
		logOptions.FS = o.fs(id)
	}
	if n.log, n.found, err = wal.Open(dir, logOptions); err != nil {
		return n, err
	}
	stateDir := filepath.Join(dir, "raft")
	file := filepath.Join(stateDir, "raft.db")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		if err := n.mustBeEmpty(); err != nil { // before anything is left there
			return n, err
		}
	}
	if err := os.MkdirAll(stateDir, 0o777); err != nil {
		return n, err
	}
	bolt, err := raftboltdb.New(raftboltdb.Options{
		Path:                    file,
		BoltOptions:             &bbolt.Options{Timeout: lockPatience, FreelistType: bbolt.FreelistMapType},
		MsgpackUseNewTimeFormat: true,
	})
	if err != nil {
		return n, fmt.Errorf("raft's log: %w", err)
	}
	// BoltDB syncs its file, not the names that lead to it.
	if err := errors.Join(syncDir(stateDir), syncDir(dir)); err != nil {
		bolt.Close()
		return n, err
	}
	n.disk = &disk{BoltStore: bolt, file: file, fail: n.fail}
	n.fsm = &fsm{log: n.log, ctx: n.ctx, fail: n.fail, fetch: n.fetch, snapshot: n.wanted, bytes: o.SnapshotBytes, patience: o.fillPatience}
	if err := n.startRaft(o, stateDir); err != nil {
		return n, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.opened = true
	return n, n.out
}

func (n *node) startRaft(o *Options, stateDir string) error {
	logger := newRaftLogger(n.ctx, n.logger)
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(stateDir, keptSnapshots, logger)
	if err != nil {
		return err
	}
	if err := n.bootstrap(o.Peers, snapshots); err != nil {
		return err
	}
	cached, err := raft.NewLogCache(cachedEntries, n.disk)
	if err != nil {
		return err
	}
	n.streams.start(func(c net.Conn) {
		if err := sendRecords(c, n.log); err != nil {
			n.logger.Warn("sending records to another node", "error", err)
		}
	})
	transport := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		ServerAddressProvider: n, Logger: logger, Stream: n.streams, MaxPool: 3,
		Timeout: rpcPatience, MsgpackUseNewTimeFormat: true,
	})
	config := n.config(o, logger)
	// Raft's goroutines begin inside NewRaft, and a disk that fails ends the
	// goroutine that it fails.
	n.disk.running.Store(true)
	begun := make(chan struct{})
	go func() {
		defer close(begun)
		n.raft, err = raft.NewRaft(config, n.fsm, cached, n.disk, snapshots, transport)
	}()
	<-begun
	if n.raft == nil {
		transport.Close()
		return errors.Join(err, n.failure())
	}
	if err := n.checkMembers(o.Peers); err != nil {
		return err
	}
	n.running.Go(n.fsm.start)
	n.running.Go(n.takeSnapshots)
	n.running.Go(n.watchLeader)
	return nil
}

func (n *node) config(o *Options, logger hclog.Logger) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(n.id)
	c.HeartbeatTimeout, c.ElectionTimeout = o.Heartbeat, o.Heartbeat
	// Nothing is read from the leader on the strength of its lease, so that a
	// machine that is busy for a moment need not cost it the leadership.
	c.LeaderLeaseTimeout = o.Heartbeat
	c.CommitTimeout = min(c.CommitTimeout, o.Heartbeat/4)
	c.MaxAppendEntries = messageEntries
	c.SnapshotInterval = 10 * time.Second
	c.SnapshotThreshold = o.SnapshotEntries
	c.TrailingLogs = o.Trailing
	c.Logger = logger
	c.NoLegacyTelemetry = true
	return c
}

// bootstrap writes the first entry of the raft log, which says who the nodes
// are, where there is no state at all. It is the same on all nodes.
func (n *node) bootstrap(peers []Peer, snapshots raft.SnapshotStore) error {
	last, err := n.disk.LastIndex()
	if err != nil {
		return err
	}
	term, err := n.disk.GetUint64([]byte(keyTerm))
	if err != nil && !errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return err
	}
	taken, err := snapshots.List()
	if err != nil {
		return err
	}
	if term == 0 && len(taken) > 0 {
		return fmt.Errorf("%w: %s has snapshots and no term: raft.db is lost, and with it whom the node voted for",
			ErrState, n.disk.file)
	}
	// A kill between the two writes leaves term 1 and no entry.
	if last > 0 || term > 1 || len(taken) > 0 {
		return nil
	}
	if err := n.mustBeEmpty(); err != nil {
		return err
	}
	var all raft.Configuration
	for _, p := range peers {
		all.Servers = append(all.Servers, raft.Server{ID: raft.ServerID(p.ID), Address: raft.ServerAddress(p.Addr)})
	}
	if err := n.disk.SetUint64([]byte(keyTerm), 1); err != nil {
		return err
	}
	return n.disk.StoreLog(&raft.Log{Index: 1, Term: 1, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(all)})
}

// mustBeEmpty refuses a log with records where there is no state of raft.
func (n *node) mustBeEmpty() error {
	if have := n.log.LastIndex(); have > 0 {
		return fmt.Errorf("%w: there are %d records in %s and no state of raft: they are of another mode, or raft/ is lost",
			ErrState, have, n.dir)
	}
	return nil
}

// checkMembers compares the peers with the nodes that the state is of.
func (n *node) checkMembers(peers []Peer) error {
	future := n.raft.GetConfiguration()
	if err := future.Error(); err != nil {
		return err
	}
	servers := future.Configuration().Servers
	if len(servers) == 0 {
		return nil // it will hear of them from the leader
	}
	missing := len(servers) != len(peers)
	names := make([]string, 0, len(servers))
	for _, s := range servers {
		names = append(names, string(s.ID))
		missing = missing || n.addr(string(s.ID)) == ""
	}
	if missing {
		return fmt.Errorf("%w: it is of a cluster of %q, the peers are others", ErrState, names)
	}
	return nil
}

// watchLeader says who leads, whenever that changes.
func (n *node) watchLeader() {
	seen := make(chan raft.Observation, 16)
	observer := raft.NewObserver(seen, false, func(o *raft.Observation) bool {
		_, ok := o.Data.(raft.LeaderObservation)
		return ok
	})
	n.raft.RegisterObserver(observer)
	defer n.raft.DeregisterObserver(observer)
	for {
		select {
		case o := <-seen:
			if l := o.Data.(raft.LeaderObservation); l.LeaderID != "" {
				n.logger.Info("raft has a leader", "leader", string(l.LeaderID), "address", string(l.LeaderAddr), "term", n.raft.CurrentTerm())
			}
		case <-n.ctx.Done():
			return
		}
	}
}

// takeSnapshots takes those that the state machine asks for.
func (n *node) takeSnapshots() {
	for {
		select {
		case <-n.wanted:
			err := n.raft.Snapshot().Error()
			if err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) && !errors.Is(err, raft.ErrRaftShutdown) {
				n.logger.Warn("raft's log was not cut", "error", err)
			}
		case <-n.ctx.Done():
			return
		}
	}
}

// fetch gets the records up to a number from whichever other nodes have them.
func (n *node) fetch(ctx context.Context, to uint64, add func([][]byte) error) error {
	var errs []error
	for _, p := range n.peers {
		if p.ID == n.id || ctx.Err() != nil {
			continue
		}
		from := n.log.LastIndex() + 1
		if from > to {
			break
		}
		c, err := n.streams.dial(n.addr(p.ID), rpcPatience, forRecords)
		if err == nil {
			err = receiveRecords(c, from, to, add)
			c.Close()
		}
		if got := n.log.LastIndex() + 1 - from; got > 0 {
			n.logger.Warn("records came from another node's log", "from", p.ID, "first", from, "records", got)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.ID, err))
		}
	}
	return errors.Join(errs...)
}

// fail puts the node out. It does not wait.
func (n *node) fail(err error) {
	n.mu.Lock()
	// What goes wrong while it is stopped is of no interest.
	first := n.out == nil && (!n.opened || n.ctx.Err() == nil)
	if first {
		n.out = fmt.Errorf("%w: %s: %w", ErrFailed, n.id, err)
	}
	if first && n.opened {
		go n.stop()
	}
	n.mu.Unlock()
	if first {
		n.logger.Error("the node is out until it is started again", "error", err)
		n.onFail()
	}
}

// syncDir makes the names in a directory durable, where a system can do that.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// handOver gives the leadership away, so that the others need not first find out
// that this node is gone.
func (n *node) handOver() {
	if n.raft == nil || n.failure() != nil || n.raft.State() != raft.Leader {
		return
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := n.raft.LeadershipTransfer().Error(); err != nil {
			n.logger.Info("the leadership was not handed over", "error", err)
		}
	}()
	patience := time.NewTimer(handOverPatience)
	defer patience.Stop()
	select {
	case <-over:
	case <-patience.C:
	}
}

// failure is why the node is out, nil while it is not.
func (n *node) failure() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.out
}

// stop ends everything of the node, within bounds. It may be called again, and
// returns when it is done.
func (n *node) stop() {
	n.once.Do(func() {
		defer close(n.stopped)
		n.cancel()
		if n.raft != nil {
			over := make(chan struct{})
			future := n.raft.Shutdown()
			n.streams.Close()
			go func() {
				defer close(over)
				future.Error()
				n.running.Wait()
				n.streams.running.Wait()
			}()
			patience := time.NewTimer(shutdownPatience)
			defer patience.Stop()
			select {
			case <-over:
			case <-patience.C:
				// Its files stay open: raft panics when they are taken away.
				n.logger.Warn("raft has not ended in time", "patience", shutdownPatience)
				return
			}
		}
		n.streams.Close()
		if n.disk != nil {
			if err := n.disk.Close(); err != nil {
				n.logger.Warn("closing raft's log", "error", err)
			}
		}
		if n.log != nil {
			if err := n.log.Close(); err != nil {
				n.logger.Warn("closing the log", "error", err)
			}
		}
	})
	<-n.stopped
}
