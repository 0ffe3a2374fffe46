package cli

import (
	"context"
	"errors"
	"fmt"
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

func (a App) serveSink(ctx context.Context, stop func(), f sinkFlags, addr string, out lines, profiles string) (err error) {
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
	server := sink.NewServer(store, sink.Settings{
		MaxRecord: int(f.maxRecord), Grace: serverGrace,
		OnError: a.complaints(),
	})
	first, text := newSinkListening(listener.Addr(), f, dir, temporary, store, found, profiles)
	if err := out.say(first, text); err != nil {
		listener.Close()
		return err
	}
	ended, began := make(chan error, 1), time.Now()
	go func() { ended <- server.Serve(ctx, listener) }()
	last, groups := sink.Counts{}, sink.Groups{}
	err = out.follow(f.server.stats, ended, stop, func(took time.Duration) (any, string) {
		c := server.Counts()
		e := newSinkStats("stats", c, last, store, took)
		last = c
		text := fmt.Sprintf("%d connections  %.0f records/s  %.1f MB/s%s", e.Connections, float64(e.Records)/e.Seconds, float64(e.Bytes)/1e6/e.Seconds, e.about(groups))
		if e.Groups != nil {
			groups = *e.Groups
		}
		return e, text
	})
	closeErr := closeStore()
	if err == nil {
		err = closeErr
	}
	e := newSinkStats("total", server.Counts(), sink.Counts{}, store, time.Since(began))
	return errors.Join(err, out.say(e, e.total()))
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
