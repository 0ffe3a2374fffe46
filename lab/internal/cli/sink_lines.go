package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"time"

	"github.com/sluice-go/sluice/lab/internal/sink"
	"github.com/sluice-go/sluice/lab/internal/sink/consensus"
	"github.com/sluice-go/sluice/lab/internal/sink/wal"
	"github.com/sluice-go/sluice/lab/internal/units"
)

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
