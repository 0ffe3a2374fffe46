package consensus

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// quiet is how long a message of raft is not repeated: while a peer is away,
// every heartbeat that it misses is one.
const quiet = 5 * time.Second

// raftLog passes what raft warns of to slog.
type raftLog struct {
	ctx context.Context // of the node: what is said while it ends is of no interest
	to  *slog.Logger

	mu   sync.Mutex
	last map[string]*said
}

type said struct {
	at    time.Time
	since int // that were left out
}

func newRaftLogger(ctx context.Context, to *slog.Logger) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Output: io.Discard, Level: hclog.Warn})
	l.RegisterSink(&raftLog{ctx: ctx, to: to, last: make(map[string]*said)})
	return l
}

// Accept is called by the logger that raft writes to.
func (r *raftLog) Accept(_ string, level hclog.Level, msg string, args ...any) {
	if level < hclog.Warn || r.ctx.Err() != nil || firstElection(msg, args) {
		return
	}
	if skipped, ok := r.due(msg); ok {
		if skipped > 0 {
			args = append(args[:len(args):len(args)], "repeated", skipped)
		}
		// Errors of raft are about peers and elections; those of this node's own
		// disk come another way.
		r.to.Log(context.Background(), slog.LevelWarn, "raft: "+msg, args...)
	}
}

// firstElection recognizes the warning with which each node begins that finds no
// leader there.
func firstElection(msg string, args []any) bool {
	if !strings.HasPrefix(msg, "heartbeat timeout reached") {
		return false
	}
	for i := 0; i+1 < len(args); i += 2 {
		if args[i] == "last-leader-id" {
			return fmt.Sprint(args[i+1]) == ""
		}
	}
	return false
}

// due reports whether to print a message, and how often it was left out before.
func (r *raftLog) due(msg string) (skipped int, ok bool) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.last[msg]
	switch {
	case s == nil:
		// The texts are raft's, some dozens; arguments are not among them.
		r.last[msg] = &said{at: now}
		return 0, true
	case now.Sub(s.at) < quiet:
		s.since++
		return 0, false
	}
	skipped, s.at, s.since = s.since, now, 0
	return skipped, true
}
