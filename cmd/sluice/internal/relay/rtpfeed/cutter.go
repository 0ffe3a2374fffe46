package rtpfeed

// FrameHead is how many bytes an interleaved frame has before its packet: "$", a
// channel and a length (RFC 2326, section 10.12).
const FrameHead = 4

// A Cutter cuts interleaved frames apart, wherever the writes end. The zero value is
// ready for use.
type Cutter struct {
	part []byte // of a frame that the latest write has cut
}

// Cut calls yield with each whole frame, borrowed until yield returns, until that
// returns false. p is borrowed until Cut returns: the part of a frame at its end is
// copied.
func (c *Cutter) Cut(p []byte, yield func(channel byte, packet []byte) bool) {
	for len(p) > 0 {
		if len(c.part) > 0 {
			k := min(frameSize(c.part)-len(c.part), len(p))
			c.part = append(c.part, p[:k]...)
			p = p[k:]
			if len(c.part) < frameSize(c.part) {
				continue
			}
			whole := c.part
			c.part = c.part[:0]
			if !yield(whole[1], whole[FrameHead:]) {
				return
			}
			continue
		}
		n := frameSize(p)
		if len(p) < n {
			c.part = append(c.part, p...)
			return
		}
		if !yield(p[1], p[FrameHead:n]) {
			return
		}
		p = p[n:]
	}
}

// frameSize is how many bytes the frame at the front of p has, or its head as long as
// that is not whole.
func frameSize(p []byte) int {
	if len(p) < FrameHead {
		return FrameHead
	}
	return FrameHead + int(p[2])<<8 + int(p[3])
}
