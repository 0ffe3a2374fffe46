package rtspserver

import (
	"encoding/binary"
	"iter"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/udpline"
)

// reports are those in RTCP packets, borrowed, with the source that each is on (RFC 3550, section
// 6.4): of a receiver, and of who sends too.
func reports(p []byte) iter.Seq2[uint32, udpline.Report] {
	return func(yield func(uint32, udpline.Report) bool) {
		const (
			head, block                  = 8, 24
			senderReport, receiverReport = 200, 201
			senderInfo                   = 20
		)
		for len(p) >= head && p[0]>>6 == 2 {
			n := 4 * (int(binary.BigEndian.Uint16(p[2:])) + 1)
			if n < head || n > len(p) {
				return
			}
			packet, blocks := p[head:n], int(p[0]&31)
			kind := p[1]
			if p = p[n:]; kind == senderReport {
				packet = packet[min(senderInfo, len(packet)):]
			} else if kind != receiverReport {
				continue
			}
			for ; blocks > 0 && len(packet) >= block; blocks-- {
				r := udpline.Report{
					Lost:    packet[4],
					Total:   udpline.Total(binary.BigEndian.Uint32(packet[4:])),
					Highest: binary.BigEndian.Uint32(packet[8:]),
					Jitter:  binary.BigEndian.Uint32(packet[12:]),
				}
				if !yield(binary.BigEndian.Uint32(packet), r) {
					return
				}
				packet = packet[block:]
			}
		}
	}
}
