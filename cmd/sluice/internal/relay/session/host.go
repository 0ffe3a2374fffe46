package session

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// puller pulls streams from an origin while they have viewers.
type puller interface {
	// Want counts a viewer of info.Stream. It starts a pull for the first viewer
	// if the stream has no publisher here, and returns when the stream exists. It
	// returns ErrNotFound when there is none within the viewer's waiting time.
	// After an error nothing is counted.
	Want(ctx context.Context, info Info) error
	// Release removes a viewer that Want counted.
	Release(stream string)
	// Close ends all pulls and waits for them, until ctx is done.
	Close(ctx context.Context) error
}

// recorder writes published streams to files, pushes them to other servers, or runs
// commands for them.
type recorder interface {
	// Begin is called when a publisher begins, also when the stream is already
	// being recorded.
	Begin(st *live.Stream)
	// Close finishes all files, pushes or commands, until ctx is done.
	Close(ctx context.Context) error
}

// A Host admits sessions to streams and keeps their register.
type Host struct {
	Services
	Config   func() *config.Config // the current settings; read-only
	Times    Times
	Log      *slog.Logger
	Alloc    *mem.Allocator
	Gate     *access.Gate
	Hub      *live.Hub
	Writer   *live.Writer
	Register *Register
	Room     func() error // returns an error that matches ErrFull when there is no memory for another publisher
	// Unfinished are the frames that publishers have begun.
	Unfinished Unfinished
	Group      Group           // what must end before the server has ended
	Ctx        context.Context // done when the server begins to shut down
	leaving    atomic.Int32
	owners     owners
	standbys   standbys
}

// Services are what a Host works with where the settings ask for it. They are set before
// the server listens.
type Services struct {
	Puller   puller   // nil: no origin
	Cluster  cluster  // nil: this server is alone
	Recorder recorder // nil: nothing is recorded
	Pusher   recorder // nil: nothing is pushed
	Commands recorder // nil: no commands run
	// TookOver is called when a publisher that stood by has taken its stream's place; nil: none.
	TookOver func(Info)
	// OnRefusal is called with each refused session and must not wait; nil: none.
	OnRefusal func(r Role, info Info, err error)
}

// For returns the settings of a stream; read-only. They are the current ones: sessions
// that have begun may go by earlier ones.
func (h *Host) For(stream string) *config.Config { return h.Config().For(stream) }

// Closing reports whether the server has begun to shut down.
func (h *Host) Closing() bool { return h.Ctx.Err() != nil }

// How far a server that drains has come.
const (
	NoPublishers int32 = 1 + iota // it takes no more publishers
	NoSessions                    // nor viewers
)

// Leave makes the server refuse sessions, with ErrClosing, that have not begun.
func (h *Host) Leave(how int32) { h.leaving.Store(how) }

// Leaving reports whether the server drains.
func (h *Host) Leaving() bool { return h.leaving.Load() > 0 }

// Refused counts and logs a refused session.
func (h *Host) Refused(r Role, info Info, err error) {
	h.Register.Refused(r, err)
	if h.OnRefusal != nil {
		h.OnRefusal(r, info, err)
	}
	h.Log.Info(string(r)+" refused", "stream", info.Stream, "protocol", info.Protocol, "address", info.Address, "agent", shortAgent(info.Agent), "reason", err)
}
