package rtspserver

import "encoding/binary"

// headerLen is the length of an RTP header (RFC 3550, section 5.1), as packets are made.
const headerLen = 12

// numbers gives the packets of one track the numbers that one viewer gets. They are made once
// for all viewers, and what is left out for one would be a loss for it: players wait for what is
// missing, and report it.
type numbers struct {
	begun bool
	due   uint16 // number, as it was made, of the next packet
	less  uint16 // by how much the viewer's are less
	room  []byte
}

// renumber returns packet, borrowed, with its number for the viewer. Where that is another, it is
// a copy, borrowed until the next call.
func (n *numbers) renumber(packet []byte) []byte {
	made := binary.BigEndian.Uint16(packet[2:])
	if n.begun {
		n.less += made - n.due
	}
	n.begun, n.due = true, made+1
	if n.less == 0 {
		return packet
	}
	n.room = append(n.room[:0], packet...)
	binary.BigEndian.PutUint16(n.room[2:], made-n.less)
	return n.room
}
