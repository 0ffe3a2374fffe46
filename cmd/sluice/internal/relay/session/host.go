package session

import (
	"context"
	"log/slog"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// puller brings streams from elsewhere for as long as somebody watches them.
type puller interface {
	// Want counts a viewer of info.Stream, starts to pull it when that is the
	// first and nobody publishes it here, and returns when there is a stream
	// or none comes within the time that the viewer waits, which is
	// ErrNotFound. After an error nothing is counted.
	Want(ctx context.Context, info Info) error
	// Release ends what Want counted.
	Release(stream string)
	// Close ends all pulls and waits for them, until ctx is done.
	Close(ctx context.Context) error
}

// recorder writes what is published to files.
type recorder interface {
	// Begin is called when somebody begins to publish, also when the same
	// stream is already being recorded.
	Begin(st *live.Stream)
	// Close finishes all files, until ctx is done.
	Close(ctx context.Context) error
}

// A Host admits sessions to streams, and keeps the register of them.
type Host struct {
	Config   func() *config.Config // what holds at the moment, not to be changed
	Times    Times
	Log      *slog.Logger
	Alloc    *mem.Allocator
	Gate     *access.Gate
	Hub      *live.Hub
	Writer   *live.Writer
	Register *Register
	Room     func() error    // why there is no room for another publisher; matches ErrFull
	Group    Group           // what has to end before the server has
	Ctx      context.Context // done when the server begins to shut down
	owners   owners
	Puller   puller   // nil: no origin
	Recorder recorder // nil: nothing is recorded
}

// Closing tells whether the server has begun to shut down.
func (h *Host) Closing() bool { return h.Ctx.Err() != nil }

// Refused logs that somebody may not publish or watch.
func (h *Host) Refused(r Role, info Info, err error) {
	h.Register.Refused(r, err)
	h.Log.Info(string(r)+" refused", "stream", info.Stream, "protocol", info.Protocol, "address", info.Address, "agent", shortAgent(info.Agent), "reason", err)
}
