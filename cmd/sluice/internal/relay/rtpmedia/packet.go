package rtpmedia

import "encoding/binary"

const (
	// maxPacket is the longest RTP packet in bytes, its header included: with those
	// of UDP and IPv6 less than the 1,500 that Ethernet carries.
	maxPacket = 1400
	headerLen = 12 // of RTP (RFC 3550, section 5.1), without extensions
	frameLen  = 4  // before a packet (RFC 2326, section 10.12)
)

// A writer appends packets of one track to a slice.
type writer struct {
	channel  byte
	payload  uint8 // type
	ssrc     uint32
	sequence uint16
	at       uint32 // timestamp of the packets
	room     int    // bytes of a payload at most

	packets, octets uint32 // sent, for the reports

	dst   []byte
	begun int // of the packet in work
}

// begin begins a packet.
func (w *writer) begin() {
	w.begun = len(w.dst)
	w.dst = append(w.dst, '$', w.channel, 0, 0, 0x80, w.payload)
	w.dst = binary.BigEndian.AppendUint16(w.dst, w.sequence)
	w.dst = binary.BigEndian.AppendUint32(w.dst, w.at)
	w.dst = binary.BigEndian.AppendUint32(w.dst, w.ssrc)
	w.sequence++
}

// end ends the packet.
func (w *writer) end(marker bool) {
	n := len(w.dst) - w.begun - frameLen
	binary.BigEndian.PutUint16(w.dst[w.begun+2:], uint16(n))
	if marker {
		w.dst[w.begun+frameLen+1] |= 0x80
	}
	w.packets++
	w.octets += uint32(n - headerLen)
}

// whole writes a packet with these parts.
func (w *writer) whole(marker bool, parts ...[]byte) {
	w.begin()
	for _, p := range parts {
		w.dst = append(w.dst, p...)
	}
	w.end(marker)
}
