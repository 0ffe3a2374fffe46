package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/time/rate"

	"github.com/sluice-go/sluice/lab/internal/sink"
	"github.com/sluice-go/sluice/lab/internal/sink/consensus"
	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

// Signals of a server: a broken pipe is no reason to end, see runEcho.
func serverSignals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

func (a App) runSink(f sinkFlags, args []string) (err error) {
	addr, err := f.check(args)
	if err != nil {
		return err
	}
	out := sinkLines{echoLines{people: a.Stdout}}
	switch f.json {
	case "":
	case "-":
		out = sinkLines{echoLines{programs: a.Stdout}}
	default:
		file, err := os.Create(f.json)
		if err != nil {
			return fmt.Errorf("sink: --json: %w", err)
		}
		defer func() {
			if closeErr := file.Close(); err == nil && closeErr != nil {
				err = fail(closeErr)
			}
		}()
		out.programs = file
	}
	// Before anything is left that would have to be removed.
	ctx, stop := signal.NotifyContext(context.Background(), serverSignals()...)
	defer stop()
	if err := a.serveSink(ctx, stop, f, addr, out); err != nil {
		return fail(fmt.Errorf("sink: %w", err))
	}
	return nil
}

// serveSink runs a sink until ctx is done.
func (a App) serveSink(ctx context.Context, stop func(), f sinkFlags, addr string, out sinkLines) (err error) {
	dir, temporary := f.dir, f.dir == ""
	if temporary {
		if dir, err = os.MkdirTemp("", "sluice-sink-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	listener, err := sink.Listen(ctx, addr)
	if err != nil {
		return err
	}
	store, found, err := a.openSink(f, dir)
	if err != nil {
		listener.Close()
		return err
	}
	// Closed before the last line, which says that all is done; and in any case.
	closed := false
	closeStore := func() error {
		if closed {
			return nil
		}
		closed = true
		return store.Close()
	}
	defer closeStore()
	var pprof *profiles
	if f.pprof != "" {
		if pprof, err = listenProfiles(f.pprof); err != nil {
			listener.Close()
			return fmt.Errorf("--pprof: %w", err)
		}
		defer pprof.close()
		go pprof.serve()
	}
	server := sink.NewServer(store, sink.Settings{
		MaxRecord: int(f.maxRecord), Grace: sinkGrace,
		OnError: a.complaints(),
	})
	if err := out.listening(listener.Addr(), f, dir, temporary, store, found, pprof.url()); err != nil {
		listener.Close()
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener) }()
	began := time.Now()
	err = out.follow(server, store, f.stats, ended, stop)
	closeErr := closeStore()
	if err == nil {
		err = closeErr
	}
	return errors.Join(err, out.total(server.Counts(), store, time.Since(began)))
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
			return nil, nil, fmt.Errorf("sink: %s holds a log of raft (%s): use --durability raft, or another directory", dir, place)
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
