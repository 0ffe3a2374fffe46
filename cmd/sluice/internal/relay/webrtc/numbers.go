package webrtc

// numbers gives the packets of one track the numbers and timestamps that one viewer
// sees. The packets are the same for all viewers, but a viewer begins with a group of
// pictures that is seconds old, may be moved on to a newer one, and may begin again with
// one that it had. To a player these are neither lost packets nor seconds to be played:
// numbers go on without a gap, old pictures follow each other at once up to the newest,
// and old sound is left out.
type numbers struct {
	video  bool
	newest func() uint32 // timestamp of the newest packet that was made

	begun    bool
	due      uint16 // number, as it was made, of the next packet
	next     uint16 // number for the viewer
	catching bool   // packets up to limit are old
	limit    uint32
	made     uint32 // timestamp of the latest packet, as it was made
	at       uint32 // for the viewer

	sent    [keptNumbers]sentPacket // by number modulo their count
	repeats [keptNumbers]uint8      // how often each was sent again
}

const (
	// keptNumbers is how many packets of a viewer can be sent again: 9 KiB for it.
	keptNumbers = 1024
	// maxRepeats is how often one is: some players ask for a packet again and again although
	// it has come, which fills their line.
	maxRepeats = 5
)

// sentPacket is what is known about a packet that a viewer was sent.
type sentPacket struct {
	number, made uint16
	at           uint32
}

// place returns number and timestamp for the viewer of the packet with a number and a
// timestamp as it was made, and reports false when it is left out.
func (n *numbers) place(number uint16, timestamp uint32) (uint16, uint32, bool) {
	if !n.begun || number != n.due {
		n.join(timestamp)
	}
	n.due = number + 1
	if n.catching && int32(timestamp-n.limit) > 0 {
		n.catching = false
	}
	switch {
	case !n.catching:
		n.at = timestamp
	case !n.video:
		return 0, 0, false
	case timestamp != n.made:
		n.at++
	}
	n.made = timestamp
	out := n.next
	n.next++
	n.sent[int(out)%keptNumbers], n.repeats[int(out)%keptNumbers] = sentPacket{out, number, n.at}, 0
	return out, n.at, true
}

// join begins, or goes on elsewhere in the stream.
func (n *numbers) join(timestamp uint32) {
	switch {
	case !n.begun:
		n.limit, n.next = n.newest(), 1
		n.at = n.limit
	case n.video:
		n.limit = n.newest()
		if int32(n.limit-n.at) > 0 {
			n.at = n.limit
		}
	default:
		n.limit = n.at // what was heard
	}
	n.catching = int32(n.limit-timestamp) > 0
	n.begun, n.made = true, timestamp-1
}

// again finds a packet by its number for the viewer, unless it was repeated often.
func (n *numbers) again(number uint16) (sentPacket, bool) {
	p := n.sent[int(number)%keptNumbers]
	return p, n.begun && p.number == number && int16(n.next-number) > 0 && n.repeats[int(number)%keptNumbers] < maxRepeats
}

// repeated takes note that a packet was sent again.
func (n *numbers) repeated(number uint16) { n.repeats[int(number)%keptNumbers]++ }
