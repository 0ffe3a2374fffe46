package tsmedia

import "bytes"

// A cutter cuts a track of sound into frames that say how long they are and may end in another
// packet than they begin in. The zero value is ready for use.
type cutter struct {
	part  []byte // of a frame that the latest packet has cut
	begun bool   // in that packet
}

// cut calls yield with the frames that end in p, borrowed until it returns, and whether they
// began before it. Bytes that are no frame are passed over. size returns how long the frame at
// the front of bytes is, more than they are when it is cut off, and 0 when there is none. The
// error is yield's.
func (c *cutter) cut(p []byte, size func(p []byte) int, yield func(frame []byte, before bool) error) error {
	old := len(c.part) // of the bytes that came before p
	if old > 0 {
		p = append(c.part, p...)
		c.part = nil
	}
	c.begun = false
	for at := 0; at < len(p); {
		n := size(p[at:])
		if n > len(p)-at {
			c.part, c.begun = bytes.Clone(p[at:]), at >= old
			return nil
		}
		if n == 0 {
			at++
			continue
		}
		if err := yield(p[at:at+n], at < old); err != nil {
			return err
		}
		at += n
	}
	return nil
}
