package rtpfeed

import (
	"sync/atomic"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
)

// order finds the pictures that a player would get too late.
type order struct {
	begun   bool
	shown   uint32 // the latest time at which a picture that was sent is shown
	leftOut atomic.Int64
}

// admits reports whether a unit is sent, and counts those that are not. A picture that
// others refer to is always sent.
func (o *order) admits(u *au.Unit) bool {
	if !u.Video {
		return true
	}
	shown := u.Time + uint32(u.Offset)
	late := o.begun && int32(shown-o.shown) < 0
	if late && !u.Key && au.Disposable(u.Codec, u.Parts) {
		o.leftOut.Add(1)
		return false
	}
	if !late || u.Key {
		o.begun, o.shown = true, shown
	}
	return true
}
