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

// A Host admits sessions to streams and keeps their register.
type Host struct {
	Services
	Memory
	Config   func() *config.Config // the current settings; read-only
	Times    Times
	Log      *slog.Logger
	Alloc    *mem.Allocator
	Gate     *access.Gate
	Hub      *live.Hub
	Writer   *live.Writer
	Register *Register
	// Unfinished are the frames that publishers have begun.
	Unfinished Unfinished
	Group      Group           // what must end before the server has ended
	Ctx        context.Context // done when the server begins to shut down
	ID         string          // by which a stream that comes back to this server is known
	leaving    atomic.Int32
	owners     owners
	standbys   standbys
	passed     passed
	ways       ways
	refusals   refusals
}

// Memory says whether there is any. Its functions return errors that match ErrFull when it is
// short.
type Memory struct {
	Room        func() error // for publishers, and viewers that take much
	RoomToWatch func() error // for every other viewer
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

// Begin adds an admitted session to the register. The caller must call End.
func (h *Host) Begin(r Role, info Info) *Client {
	c := h.Enter(r, info)
	c.Starts()
	return c
}

// Enter is Begin of a session that may come to nothing: see Register.Enter.
func (h *Host) Enter(r Role, info Info) *Client {
	// Without protection no token was verified, and the id in it may be forged.
	if info.Token = ""; h.Gate.Protected(r.Action(), info.Stream) {
		info.Token = access.TokenID(info.Query.Get("token"))
	}
	c := h.Register.Enter(r, info)
	if !info.Peer && h.Gate.Banned(info.Request(r.Action()), info.Token) != nil {
		// The ban came while a viewer waited for its stream, and did not find it here.
		c.Stop(ErrKicked)
	}
	if r == RolePublisher && h.Cluster != nil {
		// StopPublishers does not find those who are not in the register yet.
		if err := h.Cluster.Lost(info.Stream); err != nil {
			c.Stop(err)
		}
	}
	return c
}
