package session

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/rtmp"
)

// Moved is what another process needs to go on with a session, beside its stream and the
// descriptor of its connection.
type Moved struct {
	ID       string    `json:"id"`
	Role     Role      `json:"role"`
	Since    time.Time `json:"since"`
	Stream   string    `json:"stream"`
	Protocol string    `json:"protocol"`
	Address  string    `json:"address"`
	Agent    string    `json:"agent"`
	Token    string    `json:"token"` // its id
	Bytes    int64     `json:"bytes"`
	Frames   int64     `json:"frames"`
	Owner    []byte    `json:"owner,omitempty"`    // by which a publisher that comes back is known
	Pictures string    `json:"pictures,omitempty"` // what those of a publisher wait for

	Viewer *live.ViewerState `json:"viewer,omitempty"`
	RTMP   *rtmp.ConnState   `json:"rtmp,omitempty"`
	App    string            `json:"app,omitempty"`  // of the request of RTMP
	Name   string            `json:"name,omitempty"` // the same
	// What a viewer has sent.
	Received int64     `json:"received,omitempty"` // bytes
	Began    time.Time `json:"began"`
	Rest     []byte    `json:"rest,omitempty"`   // of WebSocket: received and not looked at
	Inside   bool      `json:"inside,omitempty"` // of WebSocket: a message is not complete
}

// An Inlet is what reads from a connection, and can stand still.
type Inlet interface {
	// Pause begins that, and does not wait.
	Pause()
	// Await waits for it. An error that is ErrMoved says that there is nothing to move.
	Await(ctx context.Context) error
	// State adds what it knows to m.
	State(m *Moved) error
	// Resume goes on, also when Await has failed.
	Resume()
	// Leave ends it, and closes the connection: another process has it.
	Leave()
}
