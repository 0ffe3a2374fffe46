package tsmedia

import (
	"bytes"

	"github.com/asticode/go-astits"
)

// With each packet the library copies all that has come of a picture, to see whether it is whole, which one that
// does not say its length cannot be: a picture of 4 MiB took it 12 s. So these have another beginning until the
// next one is there. What marks such a packet is its priority, of which the library takes no note.
const (
	priority  = 0x20 // in the second byte of a packet
	pesLength = 4    // where the length is
	pesHead   = 6    // bytes with it
)

var pesStart = []byte{0, 0, 1}

// hide changes the beginning of a packet, if it has to be.
func hide(packet []byte) {
	packet[1] &^= priority
	p := payload(packet)
	if bytes.HasPrefix(p, pesStart) && (len(p) < pesHead || p[pesLength] == 0 && p[pesLength+1] == 0) {
		p[len(pesStart)-1] = 0
		packet[1] |= priority
	}
}

// show undoes it.
func show(packets []*astits.Packet) {
	for _, p := range packets {
		if p.Header.TransportPriority && len(p.Payload) >= len(pesStart) {
			p.Payload[len(pesStart)-1] = pesStart[len(pesStart)-1]
			p.Header.TransportPriority = false
		}
	}
}
