package consensus

import (
	"context"
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

type raftLog struct {
	ctx context.Context // of the node: what is said while it ends is of no interest
	to  *slog.Logger

	mu   sync.Mutex
	last map[string]time.Time
}

func newRaftLogger(ctx context.Context, to *slog.Logger) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Output: io.Discard, Level: hclog.Warn})
	l.RegisterSink(&raftLog{ctx: ctx, to: to, last: make(map[string]time.Time)})
	return l
}

// Accept is called by the logger that raft writes to. That there is no leader yet is how
// each node begins, and not passed on.
func (r *raftLog) Accept(_ string, level hclog.Level, msg string, args ...any) {
	if level < hclog.Warn || r.ctx.Err() != nil || strings.HasPrefix(msg, "heartbeat timeout reached") {
		return
	}
	r.mu.Lock()
	due := time.Since(r.last[msg]) >= quiet
	if due {
		r.last[msg] = time.Now() // the texts are raft's, some dozens
	}
	r.mu.Unlock()
	if due {
		// Errors of raft are about peers and elections; those of this node's own
		// disk come another way.
		r.to.Log(context.Background(), slog.LevelWarn, "raft: "+msg, args...)
	}
}
