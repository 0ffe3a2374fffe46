package cli

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/lab/internal/sink/consensus"
)

const sinkText = `sink keeps what it is sent, over TCP or, with the address unix:PATH, over a Unix
socket, in a log of checksummed files: a target for load tests that shows what
durability costs. With port 0 it takes any that is free.

A request is a 4-byte big-endian length and so many bytes; its answer is 8 bytes,
the big-endian number of the record, the first of which is 1. Answers come in the
order of a connection's requests. lab load --protocol ack speaks that.

--durability says when the answer comes:

  async  on receipt. The record is written soon, and synced every --sync-every. A
         kill loses what is not written yet, a power cut also what is not synced.
  sync   after fsync. Records that come during one share the next.
  raft   after a majority of the nodes of a cluster has synced: --trio runs three
         in this process; or each is a sink of its own, with --id and --peers.

A kill -9 is not a power cut: what the kernel has been given outlives the process
and not the machine. Only fsync is for that, as far as the disk keeps its word.

The first line on standard output says where it listens, the next what an answer
promises and what can be lost, the third where the log is. With --stats a line
follows now and then. A log is opened again where it ended; what a crash has torn
is cut off, and said. When the disk is full or fails nothing is answered any more,
and the sink ends. lab sink verify reads what it has left.

An interrupt or SIGTERM ends it: what has been received whole is appended and
answered first, for at most 5 seconds, and synced.

Exit codes: 0 ended by a signal; 1 it cannot listen or open its log, the log is
damaged, or writing failed; 2 wrong command line.`

// sinkGrace is how long connections may take to end.
const sinkGrace = 5 * time.Second

// Limits of flags.
const (
	leastSegment = 4 << 10
	mostSegment  = 1 << 40
	mostSinkBody = 1 << 30
)

// sinkFlags are the flags as given.
type sinkFlags struct {
	dir        string
	durability string
	syncEvery  time.Duration
	segment    byteSize
	maxRecord  byteSize
	id         string
	peers      string
	raftAddr   string
	trio       bool
	stats      time.Duration
	json       string
	pprof      string
	given      func(flag string) bool
}

func (a App) sink() *cobra.Command {
	f := sinkFlags{segment: 64 << 20, maxRecord: 4 << 20}
	cmd := &cobra.Command{
		Use:     "sink address",
		Short:   "Keep what comes, as durably as asked: a target for load tests",
		Long:    sinkText,
		Example: "  lab sink --durability sync --dir records --stats 1s 127.0.0.1:7001",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given = cmd.Flags().Changed
			return a.runSink(f, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.dir, "dir", "", "keep the log in this `directory`; without it, in a temporary one that is removed at the end")
	flags.StringVar(&f.durability, "durability", "sync", "async, sync or raft")
	flags.DurationVar(&f.syncEvery, "sync-every", time.Second, "with async: how often the log is synced")
	flags.Var(&f.segment, "segment", "length of a file of the log")
	flags.Var(&f.maxRecord, "max-record", "longest record; a client that claims more is cut off")
	flags.BoolVar(&f.trio, "trio", false, "with raft: three nodes in this process, on loopback")
	flags.StringVar(&f.id, "id", "", "with raft: `name` of this node among the peers")
	flags.StringVar(&f.peers, "peers", "", "with raft: all nodes, this one too, as `name=host:port,...` of their --raft-addr")
	flags.StringVar(&f.raftAddr, "raft-addr", "", "with raft: `address` to listen on for the other nodes (default: that of --peers)")
	flags.DurationVar(&f.stats, "stats", 0, "print a line this often, such as 1s; 0 for never")
	flags.StringVar(&f.pprof, "pprof", "", "serve Go's profiles on this `address` of the loopback interface, such as 127.0.0.1:0")
	flags.StringVar(&f.json, "json", "", "write each line as JSON to this `file`, - for standard output instead of the lines")
	cmd.AddCommand(a.sinkVerify())
	return cmd
}

// check checks that the flags and arguments go together.
func (f *sinkFlags) check(args []string) (addr string, err error) {
	if len(args) != 1 {
		return "", fmt.Errorf("sink: want one address, such as 127.0.0.1:7001, got %q", args)
	}
	addr = args[0]
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		if path == "" {
			return "", errors.New("sink: unix: needs the path of a socket")
		}
	} else if _, _, err := net.SplitHostPort(addr); err != nil {
		return "", fmt.Errorf("sink: %w", err)
	}
	mode := f.durability
	switch {
	case mode != "async" && mode != "sync" && mode != "raft":
		return "", fmt.Errorf("sink: there is no --durability %q, there are async, sync and raft", mode)
	case mode != "async" && f.given("sync-every"):
		return "", fmt.Errorf("sink: --sync-every is of --durability async, not of %s", mode)
	case f.syncEvery < time.Millisecond || f.syncEvery > time.Hour:
		return "", fmt.Errorf("sink: --sync-every %v is not within 1ms and 1h", f.syncEvery)
	case f.segment < leastSegment || f.segment > mostSegment:
		return "", fmt.Errorf("sink: --segment %s is not within 4KiB and 1024GiB", f.segment.String())
	case f.maxRecord < 1 || f.maxRecord > mostSinkBody:
		return "", fmt.Errorf("sink: --max-record %s is not within 1 and 1GiB", f.maxRecord.String())
	case f.stats != 0 && (f.stats < time.Millisecond || f.stats > time.Hour):
		return "", fmt.Errorf("sink: --stats %v is not within 1ms to 1h", f.stats)
	}
	if f.given("dir") && f.dir == "" {
		return "", errors.New("sink: --dir needs a directory")
	}
	if f.pprof != "" {
		if err := loopbackOnly(f.pprof); err != nil {
			return "", fmt.Errorf("sink: --pprof: %w", err)
		}
	}
	if err := f.checkRaft(); err != nil {
		return "", fmt.Errorf("sink: %w", err)
	}
	return addr, nil
}

// checkRaft checks the flags of raft.
func (f *sinkFlags) checkRaft() error {
	if f.durability != "raft" {
		for _, flag := range []string{"trio", "id", "peers", "raft-addr"} {
			if f.given(flag) {
				return fmt.Errorf("--%s is of --durability raft, not of %s", flag, f.durability)
			}
		}
		return nil
	}
	switch {
	case !f.trio && (f.id == "" || f.peers == ""):
		return errors.New("--durability raft needs --trio, or --id and --peers")
	case f.trio && (f.id != "" || f.peers != "" || f.raftAddr != ""):
		return errors.New("--trio has no --id, --peers and --raft-addr: its nodes are all here")
	case !f.trio && f.dir == "":
		return errors.New("a node of a cluster needs --dir: one that forgets what it has promised makes the others lose it")
	case f.maxRecord > consensus.MaxBatch:
		return fmt.Errorf("--max-record %s is more than raft takes, %d MiB", f.maxRecord.String(), consensus.MaxBatch>>20)
	}
	o, err := f.raftOptions("directory")
	if err != nil {
		return err
	}
	return o.Check()
}

// raftOptions are the options of the cluster, or of this node of one.
func (f *sinkFlags) raftOptions(dir string) (consensus.Options, error) {
	o := consensus.Options{Dir: dir, ID: f.id, Trio: f.trio, Bind: f.raftAddr, SegmentBytes: int64(f.segment)}
	if f.peers == "" {
		return o, nil
	}
	for p := range strings.SplitSeq(f.peers, ",") {
		id, addr, ok := strings.Cut(p, "=")
		if !ok || id == "" || addr == "" {
			return o, fmt.Errorf("--peers: invalid peer %q: it is name=host:port", p)
		}
		o.Peers = append(o.Peers, consensus.Peer{ID: id, Addr: addr})
	}
	return o, nil
}
