package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

const sinkText = `sink keeps what it is sent, over TCP or, with the address unix:PATH, over a Unix
socket, in a log of checksummed files: a target for load tests that shows what
durability costs. A request is a 4-byte big-endian length and so many bytes; its answer
is 8 bytes, the big-endian number of the record. lab load --protocol ack speaks that.

--durability says when the answer comes:

  async  on receipt. The record is written soon, and synced every --sync-every.
  sync   after fsync. Records that come during one share the next.
  raft   after a majority of the nodes of a cluster has synced: --trio runs three
         in this process; or each is a sink of its own, with --id and --peers.

A kill -9 is not a power cut: what the kernel has been given outlives the process
and not the machine. The first lines say where it listens, what an answer promises,
and where the log is. A log is opened again where it ended; what a crash has torn
is cut off, and said. When the disk is full or fails nothing is answered any more,
and the sink ends. An interrupt or SIGTERM ends it: what has been received whole is
appended and answered first, for at most 5 seconds, and synced.

Exit codes: 0 ended by a signal; 1 it cannot listen or open its log, the log is
damaged, or writing failed; 2 wrong command line.`

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
			_, _, err := f.server.check(args)
			if err = errors.Join(err, f.check()); err != nil {
				return fmt.Errorf("sink: %w", err)
			}
			return a.serve("sink", &f.server, func(ctx context.Context, stop func(), profiles string) error {
				return a.serveSink(ctx, stop, f, args[0], profiles)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "dir", "", "keep the log in this `directory`; without it, in a temporary one that is removed at the end")
	flags.StringVar(&f.durability, "durability", "sync", "async, sync or raft")
	flags.DurationVar(&f.syncEvery, "sync-every", time.Second, "with async: how often the log is synced")
	flags.Var(&f.segment, "segment", "length of a file of the log")
	flags.Var(&f.maxRecord, "max-record", "longest record; a client that announces more is cut off")
	flags.BoolVar(&f.trio, "trio", false, "with raft: three nodes in this process, on loopback")
	flags.StringVar(&f.id, "id", "", "with raft: `name` of this node among the peers")
	flags.StringVar(&f.peers, "peers", "", "with raft: all nodes, this one too, as `name=host:port,...` of their --raft-addr")
	flags.StringVar(&f.raftAddr, "raft-addr", "", "with raft: `address` to listen on for the other nodes (default: that of --peers)")
	flags.DurationVar(&f.stats, "stats", 0, "print what it has done as JSON this often, such as 1s; 0 for never")
	f.server.define(flags)
	cmd.AddCommand(a.sinkVerify())
	return cmd
}
