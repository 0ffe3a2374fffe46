package consensus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

const (
	shutdownTimeout = 5 * time.Second  // for raft to end, see Options
	rpcTimeout      = 10 * time.Second // for a peer to answer
	// Entries for each message to a follower that catches up, and entries that
	// the leader keeps in memory for its followers.
	messageEntries, cachedEntries = 16, 32
)

type node struct {
	id, dir   string
	log       *wal.Log
	found     wal.Recovery // what the log was like when it was opened
	entries   *entries
	votes     *votes
	layer     layer
	transport *raft.NetworkTransport
	raft      *raft.Raft
	fsm       *fsm
	logger    *slog.Logger
	addr      func(id string) string // where the streams of a node are

	ctx     context.Context // ends with the node
	cancel  context.CancelFunc
	stopped chan struct{} // raft has ended, or has been given up
	once    sync.Once     // of stop
	within  time.Duration // for raft to end

	heartbeat time.Duration
	onFail    func()

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

func remedy(err error) string {
	if !errors.Is(err, wal.ErrCorrupt) && !errors.Is(err, ErrState) {
		return ""
	}
	return "; when this node's directory is the right one: move it away and start the node with an empty one while all others are up, they have everything"
}

// openNode opens a node over a listener, transferred, which it closes with
// everything else when it fails.
func openNode(o *Options, id, dir string, l net.Listener, addr func(string) string) (n *node, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	n = &node{
		ctx: ctx, cancel: cancel,
		id: id, dir: dir, layer: layer{l, ctx.Done()}, addr: addr, onFail: o.onFail,
		logger:  o.Log.With("node", id),
		stopped: make(chan struct{}), within: o.shutdown, heartbeat: o.heartbeat,
	}
	defer func() {
		if err != nil {
			n.stop()
			err = fmt.Errorf("node %s in %s: %w%s", id, dir, err, remedy(err))
		}
	}()
	logOptions := wal.Options{SegmentBytes: o.SegmentBytes, MaxRecord: MaxEntry}
	if o.fs != nil {
		logOptions.FS = o.fs(id)
	}
	if err := n.openState(logOptions); err != nil {
		return n, err
	}
	if err := n.startRaft(o); err != nil {
		return n, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.opened = true
	return n, n.out
}

func (n *node) openState(o wal.Options) error {
	o.FS = cmp.Or(o.FS, wal.OS)
	var err error
	if n.log, n.found, err = wal.Open(n.dir, o); err != nil {
		return err
	}
	if n.entries, err = openEntries(n.log, n.fail); err != nil {
		return err
	}
	if have := n.log.LastIndex(); have > 0 && !IsNode(n.dir) {
		return fmt.Errorf("%w: there are %d records in %s and no directory %s: they are of another mode, or it is lost", ErrState, have, n.dir, raftDir)
	}
	n.votes, err = openVotes(o.FS, filepath.Join(n.dir, raftDir), n.log.LastIndex() == 0, n.fail)
	return err
}

func (n *node) startRaft(o *Options) error {
	logger := hclog.NewInterceptLogger(&hclog.LoggerOptions{Output: io.Discard, Level: hclog.Warn})
	logger.RegisterSink(&raftLog{ctx: n.ctx, to: n.logger, last: make(map[string]time.Time)})
	if err := n.bootstrap(o.Peers); err != nil {
		return err
	}
	cached, err := raft.NewLogCache(cachedEntries, n.entries)
	if err != nil {
		return err
	}
	n.fsm = &fsm{fail: n.fail, entries: n.entries}
	n.transport = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		ServerAddressProvider: n, Logger: logger, Stream: n.layer, MaxPool: 3,
		Timeout: cmp.Or(o.rpcTimeout, rpcTimeout), MsgpackUseNewTimeFormat: true,
		// No pipeline. A follower that refuses entries and keeps the connection, as one with
		// a full disk does, can block that of raft 1.7.3 and 1.8.0 for ever under load: only
		// heartbeats go on. An entry waits here for the one before it, so that a pipeline
		// has little to overlap.
		MaxRPCsInFlight: 1,
	})
	config := n.config(o, logger)
	// Raft's goroutines begin inside NewRaft, and a disk that fails ends the
	// goroutine that it fails.
	n.entries.running.Store(true)
	n.votes.running.Store(true)
	begun := make(chan struct{})
	go func() {
		defer close(begun)
		n.raft, err = raft.NewRaft(config, n.fsm, cached, n.votes, raft.NewDiscardSnapshotStore(), voice{n.transport, n.hung})
	}()
	<-begun
	if n.raft == nil {
		n.transport.Close()
		return errors.Join(err, n.failure())
	}
	return n.checkMembers(o.Peers)
}

func (n *node) config(o *Options, logger hclog.Logger) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(n.id)
	c.HeartbeatTimeout, c.ElectionTimeout = o.heartbeat, o.heartbeat
	// Nothing is read from the leader on the strength of its lease, so that a
	// machine that is busy for a moment need not cost it the leadership.
	c.LeaderLeaseTimeout = o.heartbeat
	c.CommitTimeout = min(c.CommitTimeout, o.heartbeat/4)
	c.MaxAppendEntries = messageEntries
	c.SnapshotThreshold, c.TrailingLogs = math.MaxUint64, math.MaxUint64
	c.Logger = logger
	c.NoLegacyTelemetry = true
	return c
}

// bootstrap writes the first entry of raft's log, which says who the nodes are, where
// there is no state at all. It is the same on all nodes.
func (n *node) bootstrap(peers []Peer) error {
	term, err := n.votes.GetUint64([]byte(keyTerm))
	if err != nil || n.log.LastIndex() > 0 {
		return err
	}
	// A kill between the two writes leaves term 1 and no entry.
	if term > 1 {
		return fmt.Errorf("%w: %s is of term %d, and there is no entry in %s: they are lost", ErrState, n.votes.name, term, n.dir)
	}
	var all raft.Configuration
	for _, p := range peers {
		all.Servers = append(all.Servers, raft.Server{ID: raft.ServerID(p.ID), Address: raft.ServerAddress(p.Addr)})
	}
	if err := n.votes.SetUint64([]byte(keyTerm), 1); err != nil {
		return err
	}
	return n.entries.StoreLog(&raft.Log{Index: 1, Term: 1, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(all)})
}

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

// handOver gives the leadership away, so that the others need not first find out
// that this node is gone.
func (n *node) handOver() {
	if n.raft == nil || n.failure() != nil || n.raft.State() != raft.Leader {
		return
	}
	// Raft waits for as long as an election may take.
	if err := n.raft.LeadershipTransfer().Error(); err != nil {
		n.logger.Info("the leadership was not handed over", "error", err)
	}
}

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
			n.layer.Close()
			n.transport.CloseStreams()
			go func() {
				defer close(over)
				future.Error() // closes the transport
				n.transport.CloseStreams()
			}()
			select {
			case <-over:
			case <-time.After(n.within):
				// Its files stay open: raft panics when they are taken away.
				n.logger.Warn("raft has not ended in time", "timeout", n.within)
				return
			}
		}
		n.layer.Close()
		if n.log != nil {
			if err := n.log.Close(); err != nil {
				n.logger.Warn("closing the log", "error", err)
			}
		}
	})
	<-n.stopped
}

// quiet is how long a message of raft is not repeated: while a peer is away,
// every heartbeat that it misses is one.
const quiet = 5 * time.Second

type raftLog struct {
	ctx context.Context // of the node: what is said while it ends is of no interest
	to  *slog.Logger

	mu   sync.Mutex
	last map[string]time.Time
}

// Accept is called by the logger that raft writes to. That there is no leader yet is how
// each node begins, and not passed on.
func (r *raftLog) Accept(_ string, level hclog.Level, msg string, args ...any) {
	if level < hclog.Warn || r.ctx.Err() != nil || strings.HasPrefix(msg, "heartbeat timeout reached") {
		return
	}
	r.mu.Lock()
	due := time.Since(r.last[msg]) >= quiet
	if due {
		r.last[msg] = time.Now() // the texts are raft's, some dozens
	}
	r.mu.Unlock()
	if due {
		// Errors of raft are about peers and elections; those of this node's own
		// disk come another way.
		r.to.Log(context.Background(), slog.LevelWarn, "raft: "+msg, args...)
	}
}
