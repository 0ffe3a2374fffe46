package session

import (
	"fmt"
	"slices"
)

// errShed: the newest viewers are ended.
var errShed = fmt.Errorf("%w: there is no memory for the newest viewers", ErrFull)

// shedPart is the part of the viewers that Shed ends.
const shedPart = 50

// Shed ends a fiftieth of the viewers, the newest, and returns how many: they were let in before
// it was known what they and others would take. Other nodes of the cluster, which watch for
// many, stay.
func (h *Host) Shed() (ended int) {
	list := slices.DeleteFunc(h.Register.AppendRole(nil, RoleViewer), func(c *Client) bool { return c.Peer })
	slices.SortFunc(list, func(a, b *Client) int { return b.Since.Compare(a.Since) })
	list = list[:(len(list)+shedPart-1)/shedPart]
	for _, c := range list {
		c.Stop(errShed)
	}
	return len(list)
}
