package cli

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/sluice-go/sluice/lab/internal/sink"
	"github.com/sluice-go/sluice/lab/internal/sink/consensus"
	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

// sinkListening is the first line for programs.
type sinkListening struct {
	Event      string         `json:"event"` // listening
	Address    string         `json:"address"`
	Durability string         `json:"durability"`
	Window     string         `json:"window"` // what an answer promises, and what can be lost
	Dir        string         `json:"dir"`
	Temporary  bool           `json:"temporary"`           // Dir is removed at the end
	Recovered  *sinkRecovered `json:"recovered,omitempty"` // of async and sync
	Pprof      string         `json:"pprof,omitempty"`     // URL
	PID        int            `json:"pid"`
}

// sinkRecovered is what was in the log at the start.
type sinkRecovered struct {
	First   uint64 `json:"first"`
	Last    uint64 `json:"last"` // 0 when there was none
	Cut     int64  `json:"cut"`  // bytes
	Segment string `json:"segment,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// sinkStats are the others.
type sinkStats struct {
	Event       string           `json:"event"`               // stats, or total for the last one
	Seconds     float64          `json:"seconds"`             // that it is about
	Connections int              `json:"connections"`         // now
	Accepted    uint64           `json:"accepted"`            // connections since the beginning
	Refused     uint64           `json:"refused"`             // of those
	Records     uint64           `json:"records"`             // acknowledged within the seconds
	Bytes       uint64           `json:"bytes"`               // of those
	Groups      *sink.Groups     `json:"groups,omitempty"`    // of sync, since the beginning
	Unwritten   *uint64          `json:"unwritten,omitempty"` // of async: a kill would lose so many now
	Unsynced    *uint64          `json:"unsynced,omitempty"`  // and a power cut so many
	Raft        *consensus.Stats `json:"raft,omitempty"`      // since the beginning
}

func newSinkListening(at net.Addr, f sinkFlags, dir string, temporary bool, store sink.Store, found *wal.Recovery, pprof string) (sinkListening, string) {
	e := sinkListening{
		Event: "listening", Address: addressText(at), Durability: f.durability, Window: store.Window(),
		Dir: dir, Temporary: temporary, Pprof: pprof, PID: os.Getpid(),
	}
	text := fmt.Sprintf("listening on %s\n%s\n", e.Address, e.Window)
	switch {
	case temporary:
		text += fmt.Sprintf("the log is in %s, which is removed at the end", dir)
	case found == nil || found.Last == 0:
		text += "the log is in " + dir
	default:
		text += fmt.Sprintf("the log is in %s, with records 1 to %d", dir, found.Last)
	}
	if found != nil {
		e.Recovered = &sinkRecovered{1, found.Last, found.Cut, filepath.Base(found.Segment), found.Reason}
		if found.Reason == "" {
			e.Recovered.Segment = ""
		}
		if found.Cut > 0 {
			text += fmt.Sprintf("\n%d bytes were cut off %s, behind record %d: %s", found.Cut, e.Recovered.Segment, found.Last, found.Reason)
		}
	}
	if pprof != "" {
		text += "\nprofiles on " + pprof
	}
	return e, text
}

func newSinkStats(event string, c, last sink.Counts, store sink.Store, took time.Duration) sinkStats {
	e := sinkStats{
		Event: event, Seconds: took.Seconds(), Connections: c.Open, Accepted: c.Accepted, Refused: c.Refused,
		Records: c.Records - last.Records, Bytes: c.Bytes - last.Bytes,
	}
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

// about returns what a store adds to a line. before are the groups that earlier
// lines have counted.
func (e *sinkStats) about(before sink.Groups) string {
	switch {
	case e.Groups != nil:
		syncs := e.Groups.Syncs - before.Syncs
		if syncs == 0 {
			return "  0 fsyncs"
		}
		return fmt.Sprintf("  %d fsyncs, %.1f records each", syncs, float64(e.Groups.Records-before.Records)/float64(syncs))
	case e.Unsynced != nil:
		return fmt.Sprintf("  not written: %d, not synced: %d", *e.Unwritten, *e.Unsynced)
	case e.Raft != nil:
		leader := "no leader"
		if e.Raft.Leader != "" {
			leader = "leader " + e.Raft.Leader
		}
		return fmt.Sprintf("  %s, term %d, record %d", leader, e.Raft.Term, e.Raft.Last)
	}
	return ""
}

// total is the last line, when the store has been closed.
func (e *sinkStats) total() string {
	text := fmt.Sprintf("%d connections, %d records, %.1f MB in %.1f s", e.Accepted, e.Records, float64(e.Bytes)/1e6, e.Seconds)
	switch {
	case e.Groups != nil && e.Groups.Syncs > 0:
		text += fmt.Sprintf("; %d fsyncs, %.1f records each, at most %d", e.Groups.Syncs, float64(e.Groups.Records)/float64(e.Groups.Syncs), e.Groups.Most)
	case e.Unsynced != nil && *e.Unsynced > 0:
		text += fmt.Sprintf("; %d that were acknowledged were not written, %d not synced", *e.Unwritten, *e.Unsynced)
	}
	return text
}
