package consensus

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/sluice-go/sluice/lab/internal/sink"
	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

const (
	MinPeers = 3
	MaxPeers = 7
	// MaxBatch is the most that the records of one entry of raft's log may have
	// together, in bytes, and MaxEntry what the entry may have with their lengths.
	MaxBatch = 64 << 20
	MaxEntry = MaxBatch + entryHeader + countLength + sizeLength*batchRecords + 1<<10
)

// A Peer is a node of the cluster.
type Peer struct {
	ID   string // the same on all nodes and for ever
	Addr string // HOST:PORT that its raft listens on
}

// Options say which node, or nodes, a Store runs, and where.
type Options struct {
	// Dir holds what the node keeps: its log in Dir itself, its term and votes in
	// Dir/raft. A trio has Dir/1, Dir/2 and Dir/3.
	Dir string

	// ID and Peers say which node of which cluster this is. Peers are all nodes,
	// this one among them, and the same on each. Trio instead is three nodes in
	// this process, on ports of the system's choosing on 127.0.0.1.
	ID    string
	Peers []Peer
	Trio  bool
	// Bind is the address to listen on, where it is not the node's own of Peers.
	Bind string

	// Log gets elections, failures and the warnings of raft; nil discards them.
	Log *slog.Logger

	// SegmentBytes is the size of the segments of a node's log; 0 for wal's own.
	SegmentBytes int64

	// What follows is of tests. heartbeat is how long a follower waits for a sign of its leader
	// before it wants an election, and a candidate for votes, 0 for 1 s; leaderWait how long an
	// append waits while no leader is known, 0 for 5 s; batchBytes the size at which an entry is
	// full, 0 for 1 MiB: a record that is longer has an entry of its own.
	heartbeat  time.Duration
	leaderWait time.Duration
	batchBytes int
	fs         func(node string) wal.FS // whose disks are full
	shutdown   time.Duration            // for raft to end, before tests start the node again; 0 for 5 s
	rpcTimeout time.Duration            // for a peer to answer; 0 for 10 s
	onFail     func()                   // of the store, when a node is out
}

// ErrOptions is matched by what Open returns for options that cannot be.
var ErrOptions = errors.New("consensus: bad options")

func (o *Options) withDefaults() Options {
	c := *o
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.shutdown = cmp.Or(c.shutdown, shutdownTimeout)
	c.heartbeat, c.leaderWait = cmp.Or(c.heartbeat, time.Second), cmp.Or(c.leaderWait, 5*time.Second)
	c.batchBytes = cmp.Or(c.batchBytes, 1<<20)
	if c.Trio {
		c.Peers = []Peer{{"1", "trio-1"}, {"2", "trio-2"}, {"3", "trio-3"}} // names, as the ports are others each time
	}
	return c
}

// Check says what is wrong with the options, as an ErrOptions. It touches
// nothing.
func (o *Options) Check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrOptions, fmt.Sprintf(format, args...))
	}
	switch {
	case o.Dir == "":
		return bad("no directory")
	case o.Trio && (len(o.Peers) > 0 || o.ID != "" || o.Bind != ""):
		return bad("a trio has no peers, no name and no address to bind")
	case o.SegmentBytes < 0:
		return bad("segments of %d bytes", o.SegmentBytes)
	case o.Trio:
		return nil
	case len(o.Peers) < MinPeers || len(o.Peers) > MaxPeers || len(o.Peers)%2 == 0:
		return bad("%d peers: a majority needs 3, 5 or 7, this node among them", len(o.Peers))
	}
	ids, addrs := map[string]bool{}, map[string]bool{}
	for _, p := range o.Peers {
		if p.ID == "" || len(p.ID) > 64 {
			return bad("a peer's name %q has not 1 to 64 bytes", p.ID)
		}
		if _, _, err := net.SplitHostPort(p.Addr); err != nil {
			return bad("peer %s: %q is no HOST:PORT", p.ID, p.Addr)
		}
		if ids[p.ID] {
			return bad("two peers are called %s", p.ID)
		}
		if addrs[p.Addr] {
			return bad("two peers are at %s", p.Addr)
		}
		ids[p.ID], addrs[p.Addr] = true, true
	}
	if !ids[o.ID] {
		return bad("this node, %q, is not among the peers", o.ID)
	}
	return nil
}

func (o *Options) here() []Peer {
	var list []Peer
	for _, p := range o.Peers {
		switch {
		case o.Trio:
			list = append(list, Peer{p.ID, "127.0.0.1:0"})
		case p.ID == o.ID:
			list = append(list, Peer{p.ID, cmp.Or(o.Bind, p.Addr)})
		}
	}
	return list
}

var (
	// ErrNotLeader is matched by the error of an append at a node that does not
	// lead. Its text names the node that does, where that is known. Nothing of the
	// append is in any log.
	ErrNotLeader = errors.New("consensus: not the leader")
	// ErrInDoubt is matched by the error of an append that was under way when the
	// leadership was lost: its records may be in the log or not.
	ErrInDoubt = errors.New("consensus: leadership lost while the records were under way")
	// ErrClosed is matched by the error of an append to a store that is closed,
	// or closes before it has taken the records from its queue.
	ErrClosed = sink.ErrClosed
	// ErrFailed is matched when a node is out because its disk refused a write.
	// It stays out until it is opened again; with a trio, two of them are. It is a
	// sink.ErrFailed.
	ErrFailed = fmt.Errorf("consensus: node is out: %w", sink.ErrFailed)
	// ErrTooLong is matched by the error of an append whose records do not fit
	// into MaxBatch.
	ErrTooLong = errors.New("consensus: records too long")
	// ErrState is matched when a directory holds what does not belong to this
	// cluster, or only a part of what does.
	ErrState = errors.New("consensus: directory does not fit")
)
