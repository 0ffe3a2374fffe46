package session

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"time"
)

// errShed: the newest viewers are ended; errShedNewest: the newest publisher is.
var (
	errShed       = fmt.Errorf("%w: there is no memory for the newest viewers", ErrFull)
	errShedNewest = fmt.Errorf("%w: there is no memory for the newest publisher", ErrFull)
)

const (
	// shedPart is the part of the viewers that Shed ends.
	shedPart = 50
	// perPublisher is how many viewers take what one publisher does, about, where what the streams keep
	// is within its bounds: it has buffers that viewers do not need.
	perPublisher = 10
)

// Shed ends sessions, and returns how many. When the streams are to blame, it ends the fastest publisher,
// of several that are about as fast the newest; else the newest publisher, when publishers take more
// than the viewers do, or a fiftieth of the viewers, the newest: they were let in before it was known
// what they and others would take. Other nodes of the cluster, which watch for many, stay, and so does
// a publisher that is alone.
func (h *Host) Shed(streams bool) (viewers, publishers int) {
	peer := func(c *Client) bool { return c.Peer }
	watching := slices.DeleteFunc(h.Register.AppendRole(nil, RoleViewer), peer)
	publishing := slices.DeleteFunc(h.Register.AppendRole(nil, RolePublisher), peer)
	if len(publishing) > 1 && (streams || len(publishing)*perPublisher > len(watching)) {
		now, reason := time.Now(), errShedNewest
		c := slices.MaxFunc(publishing, func(a, b *Client) int {
			if streams {
				if byRate := cmp.Compare(bits.Len64(a.rate(now)), bits.Len64(b.rate(now))); byRate != 0 {
					return byRate
				}
			}
			return a.Since.Compare(b.Since)
		})
		if streams {
			reason = fmt.Errorf("%w: there is no memory for the fastest publisher, which sends %d bytes a second", ErrFull, c.rate(now))
		}
		c.Stop(reason)
		return 0, 1
	}
	slices.SortFunc(watching, func(a, b *Client) int { return b.Since.Compare(a.Since) })
	watching = watching[:(len(watching)+shedPart-1)/shedPart]
	for _, c := range watching {
		c.Stop(errShed)
	}
	return len(watching), 0
}

// rate is how many bytes of frames have come a second, since the publisher began.
func (s *Client) rate(now time.Time) uint64 {
	return uint64(float64(max(s.Figures().Bytes, 0)) / max(now.Sub(s.Since), time.Second).Seconds())
}
