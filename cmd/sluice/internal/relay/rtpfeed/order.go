package rtpfeed

import (
	"sync/atomic"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
)

// order makes pictures ready for players that show them as they come. Those that would
// be shown before one that was sent are left out where nothing refers to them. The
// others keep the order in which they are decoded, and get times that do not go back: a
// player drops what is late, and then lacks it for what follows.
type order struct {
	begun   bool
	shown   uint32 // the latest time at which a picture that was sent is shown
	offset  int32  // of the first key frame, which all others get
	leftOut atomic.Int64
	late    func() // called when a picture is late that others refer to; nil after that
}

// admits reports whether a unit is sent, and counts those that are not.
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
	if late && !u.Key && o.late != nil {
		o.late()
		o.late = nil
	}
	if !o.begun {
		o.offset = u.Offset
	}
	if !late || u.Key {
		o.begun, o.shown = true, shown
	}
	u.Offset = o.offset
	return true
}
