package session

import (
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/live"
)

// A Role is what a session does.
type Role string

const (
	RolePublisher Role = "publisher"
	RoleViewer    Role = "viewer"
)

// Action is the action for the gate of a session with that role.
func (r Role) Action() access.Action {
	if r == RolePublisher {
		return access.Publish
	}
	return access.Play
}

// Figures are those of one session.
type Figures struct {
	Bytes   int64 // received from a publisher, sent to a viewer
	Frames  int64
	Lag     time.Duration // how far a viewer is behind the newest frame
	Jumps   int64         // how often a viewer was moved to a newer key frame
	Dropped int64         // frames that it missed that way
	Merge   time.Duration
}

// plus adds the figures that can be added.
func (f Figures) plus(g Figures) Figures {
	return Figures{Bytes: f.Bytes + g.Bytes, Frames: f.Frames + g.Frames, Jumps: f.Jumps + g.Jumps, Dropped: f.Dropped + g.Dropped}
}

// viewerStats returns a function that reads a viewer's figures.
func viewerStats(v *live.Viewer) func() Figures {
	return func() Figures {
		f := v.Stats()
		return Figures{Bytes: f.Bytes, Frames: f.Frames, Lag: f.Lag, Jumps: f.Jumps, Dropped: f.Dropped, Merge: f.Merge}
	}
}

// A Kind is the key by which sessions are counted.
type Kind struct {
	Role     Role
	Protocol string
}

// An Outcome is a refusal or an ending, by role and the code of its reason.
type Outcome struct {
	Role Role
	Code string
}
