package srtserver

import (
	"net"
	"testing"

	"github.com/datarhei/gosrt/circular"
	"github.com/datarhei/gosrt/congestion/live"
	"github.com/datarhei/gosrt/crypto"
	"github.com/datarhei/gosrt/packet"
)

// FuzzPacketsOfAConnection gives the library what a peer with a connection may send it.
// The library reads that on goroutines of its own, where a panic would end the server.
func FuzzPacketsOfAConnection(f *testing.F) {
	f.Add([]byte{0x80, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})
	f.Add([]byte{0x80, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 1, 0, 0, 0, 9})
	f.Add([]byte{0xff, 0xff, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x20, 0x29, 1, 0, 0, 0, 0, 2, 0, 2, 0, 0, 0, 4, 4})
	f.Add([]byte{0, 0, 0, 5, 0xc0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0x47})
	f.Fuzz(func(t *testing.T, p []byte) {
		pkt, err := packet.NewPacketFromData(&net.UDPAddr{}, p)
		if err != nil {
			return
		}
		receiver := live.NewReceiver(live.ReceiveConfig{InitialSequenceNumber: circular.New(0, packet.MAX_SEQUENCENUMBER)})
		sender := live.NewSender(live.SendConfig{InitialSequenceNumber: circular.New(0, packet.MAX_SEQUENCENUMBER), OnDeliver: func(packet.Packet) {}})
		for range 3 {
			out := packet.NewPacket(nil)
			out.SetData([]byte("data"))
			sender.Push(out)
		}
		sender.Tick(1000)
		_ = pkt.String()
		if !pkt.Header().IsControlPacket {
			receiver.Push(pkt)
			receiver.Tick(1 << 40)
			return
		}
		var ack packet.CIFACK
		if pkt.UnmarshalCIF(&ack) == nil {
			sender.ACK(ack.LastACKPacketSequenceNumber)
		}
		var nak packet.CIFNAK
		if pkt.UnmarshalCIF(&nak) == nil {
			sender.NAK(nak.LostPacketSequenceNumber)
		}
		sender.Tick(2000)
		_ = pkt.UnmarshalCIF(&packet.CIFHandshakeExtension{})
		_ = pkt.UnmarshalCIF(&packet.CIFShutdown{})
		var km packet.CIFKeyMaterialExtension
		if pkt.UnmarshalCIF(&km) == nil {
			if c, err := crypto.New(16); err == nil {
				_ = c.UnmarshalKM(&km, "a passphrase")
			}
		}
	})
}
