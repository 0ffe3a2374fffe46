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

	// By the peer's own reports, if there were any:
	Reported bool
	Lost     int64         // packets that did not come to a viewer
	Jitter   time.Duration // of those that did
}

// Received returns what a viewer's peer reports: how many packets did not come, and the jitter of the others; false
// before its first report. It may be called by any goroutine, also after the viewer's end.
type Received func() (lost int64, jitter time.Duration, ok bool)

// plus adds the figures that can be added.
func (f Figures) plus(g Figures) Figures {
	return Figures{Bytes: f.Bytes + g.Bytes, Frames: f.Frames + g.Frames, Jumps: f.Jumps + g.Jumps, Dropped: f.Dropped + g.Dropped}
}

// viewerStats returns a function that reads a viewer's figures. received may be nil.
func viewerStats(v *live.Viewer, received Received) func() Figures {
	return func() Figures {
		s := v.Stats()
		f := Figures{Bytes: s.Bytes, Frames: s.Frames, Lag: s.Lag, Jumps: s.Jumps, Dropped: s.Dropped, Merge: s.Merge}
		if received != nil {
			f.Lost, f.Jitter, f.Reported = received()
		}
		return f
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
