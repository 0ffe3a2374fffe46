package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/sluice-go/sluice/lab/internal/sink"
	"github.com/sluice-go/sluice/lab/internal/sink/consensus"
	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

func (a App) serveSink(ctx context.Context, stop func(), f sinkFlags, addr, profiles string) (err error) {
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
