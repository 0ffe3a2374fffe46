package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/time/rate"

	"github.com/sluice-go/sluice/lab/internal/sink"
	"github.com/sluice-go/sluice/lab/internal/sink/consensus"
	"github.com/sluice-go/sluice/lab/internal/sink/wal"
	"github.com/sluice-go/sluice/lab/internal/units"
)

func (a App) sink() *cobra.Command {
	f := sinkFlags{segment: 64 << 20, maxRecord: 4 << 20}
	cmd := command("sink", func(args []string) error {
		network, addr, err := f.server.check(args)
		if err = errors.Join(err, f.check()); err != nil {
			return err
		}
		return a.serve("sink", &f.server, func(ctx context.Context, stop func(), profiles string) error {
			return a.serveSink(ctx, stop, f, network, addr, profiles)
		})
	})
	flags := cmd.Flags()
	f.given = flags.Changed
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

const (
	leastSegment = 4 << 10
	mostSegment  = 1 << 40
	mostSinkBody = 1 << 30
)

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
	server     serverFlags
	given      func(flag string) bool
}

func (f *sinkFlags) check() error {
	mode := f.durability
	switch {
	case mode != "async" && mode != "sync" && mode != "raft":
		return fmt.Errorf("there is no --durability %q, there are async, sync and raft", mode)
	case mode != "async" && f.given("sync-every"):
		return fmt.Errorf("--sync-every is of --durability async, not of %s", mode)
	case f.syncEvery < time.Millisecond || f.syncEvery > time.Hour:
		return fmt.Errorf("--sync-every %v is not within 1ms and 1h", f.syncEvery)
	case f.segment < leastSegment || f.segment > mostSegment:
		return fmt.Errorf("--segment %s is not within 4KiB and 1024GiB", f.segment.String())
	case f.maxRecord < 1 || f.maxRecord > mostSinkBody:
		return fmt.Errorf("--max-record %s is not within 1 and 1GiB", f.maxRecord.String())
	case f.stats != 0 && (f.stats < time.Millisecond || f.stats > time.Hour):
		return fmt.Errorf("--stats %v is not within 1ms and 1h", f.stats)
	}
	return f.checkRaft()
}

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

func (a App) serveSink(ctx context.Context, stop func(), f sinkFlags, network, addr, profiles string) (err error) {
	dir, temporary := f.dir, f.dir == ""
	if temporary {
		if dir, err = os.MkdirTemp("", "sluice-sink-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	listener, err := new(net.ListenConfig).Listen(ctx, network, addr)
	if err != nil {
		return err
	}
	store, found, err := a.openSink(f, dir)
	if err != nil {
		listener.Close()
		return err
	}
	server := sink.NewServer(store, sink.Settings{MaxRecord: int(f.maxRecord), Grace: serverGrace, OnError: a.complaints()})
	if _, err := io.WriteString(a.Stdout, sinkStarted(listener.Addr(), store.Window(), dir, temporary, found)+profiles); err != nil {
		return errors.Join(err, listener.Close(), store.Close())
	}
	began, ended := time.Now(), make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener) }()
	stats := func() sinkStats { return newSinkStats(began, server.Counts(), store) }
	err = follow(a.Stdout, f.stats, ended, stop, stats)
	if closeErr := store.Close(); err == nil {
		err = closeErr
	}
	if f.stats > 0 { // the last line says that all is done
		err = errors.Join(err, json.NewEncoder(a.Stdout).Encode(stats()))
	}
	return err
}

// complaints prints the errors of connections, at a limited rate: a thousand clients
// may reconnect again and again to a node that cannot serve them.
func (a App) complaints() func(error) {
	const lines, burst = 5, 20 // a second, and at once
	limit := rate.NewLimiter(lines, burst)
	var mu sync.Mutex
	left := 0
	return func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if !limit.Allow() {
			left++
			return
		}
		if left > 0 {
			fmt.Fprintf(a.Stderr, "lab: sink: %d more like these were left out\n", left)
			left = 0
		}
		fmt.Fprintf(a.Stderr, "lab: sink: %v\n", err)
	}
}

// openSink opens the log in a directory. The Recovery is nil where nodes have one each.
func (a App) openSink(f sinkFlags, dir string) (sink.Store, *wal.Recovery, error) {
	if f.durability == "raft" {
		o, err := f.raftOptions(dir)
		if err != nil {
			return nil, nil, err
		}
		o.Log = slog.New(slog.NewTextHandler(a.Stderr, nil))
		store, err := consensus.Open(o)
		return store, nil, err
	}
	// What a single sink appended there would have numbers that the cluster gives
	// to other records.
	for _, place := range []string{"raft", filepath.Join("1", "raft")} {
		if _, err := os.Stat(filepath.Join(dir, place)); err == nil {
			return nil, nil, fmt.Errorf("%s holds a log of raft (%s): use --durability raft, or another directory", dir, place)
		}
	}
	log, found, err := wal.Open(dir, wal.Options{SegmentBytes: int64(f.segment), MaxRecord: int(f.maxRecord)})
	if c := (*wal.CorruptError)(nil); errors.As(err, &c) {
		return nil, nil, fmt.Errorf("%w; %s", err, c.Remedy())
	}
	if err != nil {
		return nil, nil, err
	}
	if f.durability == "async" {
		return sink.NewAsync(log, sink.AsyncOptions{SyncEvery: f.syncEvery}), &found, nil
	}
	return sink.NewSync(log), &found, nil
}

type byteSize int64

func (v *byteSize) Set(text string) error {
	n, err := units.ParseBytes(text)
	*v = byteSize(n)
	return err
}

func (v *byteSize) String() string { return units.Short(int64(*v)) }

func (*byteSize) Type() string { return "size" }

// sinkStarted says where a sink listens, what its answers promise, and where its log is. found is
// nil where nodes have a log each.
func sinkStarted(at net.Addr, window, dir string, temporary bool, found *wal.Recovery) string {
	text := listening(at) + window + "\nthe log is in " + dir
	switch {
	case temporary:
		text += ", which is removed at the end"
	case found != nil && found.Last > 0:
		text += fmt.Sprintf(", with records 1 to %d", found.Last)
	}
	if found != nil && found.Cut > 0 {
		text += fmt.Sprintf("\n%s cut off %s, behind record %d: %s", units.Plural(found.Cut, "byte"), filepath.Base(found.Segment), found.Last, found.Reason)
	}
	return text + "\n"
}

type sinkStats struct {
	Seconds float64 `json:"seconds"`
	sink.Counts
	Groups    *sink.Groups     `json:"groups,omitempty"`    // of sync
	Unwritten *uint64          `json:"unwritten,omitempty"` // of async: a kill would lose so many now
	Unsynced  *uint64          `json:"unsynced,omitempty"`  // and a power cut so many
	Raft      *consensus.Stats `json:"raft,omitempty"`
}

func newSinkStats(began time.Time, c sink.Counts, store sink.Store) sinkStats {
	e := sinkStats{Seconds: time.Since(began).Seconds(), Counts: c}
	switch s := store.(type) {
	case *sink.Sync:
		groups := s.Groups()
		e.Groups = &groups
	case *sink.Async:
		unwritten, unsynced := s.AtRisk()
		e.Unwritten, e.Unsynced = &unwritten, &unsynced
	case *consensus.Store:
		stats := s.Stats()
		e.Raft = &stats
	}
	return e
}

// follow prints what stats returns as JSON, a line so often, until the server has ended, and
// returns why it did. When nothing can be printed any more it stops the server.
func follow(out io.Writer, every time.Duration, ended <-chan error, stop func(), stats func() sinkStats) error {
	var tick <-chan time.Time
	if every > 0 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case err := <-ended:
			return err
		case <-tick:
			if err := json.NewEncoder(out).Encode(stats()); err != nil {
				stop()
				return errors.Join(err, <-ended)
			}
		}
	}
}
