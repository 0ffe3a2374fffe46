package webrtc

import (
	"net"
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/pion/ice/v4"
)

// maxHandshake is how many bytes of DTLS a client may send in a session: more is lost, as on the
// way. A handshake is a few kilobytes, and again for each repetition. The library keeps up to
// 2 MB of parts of messages that are never whole.
const maxHandshake = 64 << 10

// A handshake counts what has come of a session's DTLS.
type handshake struct{ bytes atomic.Int64 }

// takes reports whether a packet, borrowed, is taken: by its first byte it may be of DTLS
// (RFC 7983, section 7).
func (h *handshake) takes(p []byte) bool {
	return len(p) == 0 || p[0] < 20 || p[0] > 63 || h.bytes.Add(int64(len(p))) <= maxHandshake
}

// handshakeUDP is the port of UDP as one session has it.
type handshakeUDP struct {
	*ice.UDPMuxDefault
	handshake *handshake
	loopback  bool
}

func (m handshakeUDP) GetConn(ufrag string, addr net.Addr) (net.PacketConn, error) {
	c, err := m.UDPMuxDefault.GetConn(ufrag, addr)
	if err != nil {
		return nil, err
	}
	packets := handshakePackets{c, m.handshake}
	if fast, ok := c.(ice.AddrPortReaderWriter); ok {
		return handshakeAddrPort{packets, fast}, nil
	}
	return packets, nil
}

// GetListenAddresses leaves the loopback out where only other machines reach the port: the
// library does for its own type only.
func (m handshakeUDP) GetListenAddresses() []net.Addr {
	return slices.DeleteFunc(m.UDPMuxDefault.GetListenAddresses(), func(a net.Addr) bool {
		u, ok := a.(*net.UDPAddr)
		return ok && u.IP.IsLoopback() && !m.loopback
	})
}

// handshakeTCP is the port of TCP as one session has it.
type handshakeTCP struct {
	*ice.TCPMuxDefault
	handshake *handshake
}

func (m handshakeTCP) GetConnByUfrag(ufrag string, isIPv6 bool, local net.IP) (net.PacketConn, error) {
	c, err := m.TCPMuxDefault.GetConnByUfrag(ufrag, isIPv6, local)
	if err != nil {
		return nil, err
	}
	return handshakePackets{c, m.handshake}, nil
}

// handshakePackets are the packets of a session.
type handshakePackets struct {
	net.PacketConn
	handshake *handshake
}

func (c handshakePackets) ReadFrom(p []byte) (int, net.Addr, error) {
	for {
		n, from, err := c.PacketConn.ReadFrom(p)
		if err != nil || c.handshake.takes(p[:n]) {
			return n, from, err
		}
	}
}

// handshakeAddrPort is the same without an allocation for each packet.
type handshakeAddrPort struct {
	handshakePackets
	fast ice.AddrPortReaderWriter
}

func (c handshakeAddrPort) ReadFromAddrPort(p []byte) (int, netip.AddrPort, error) {
	for {
		n, from, err := c.fast.ReadFromAddrPort(p)
		if err != nil || c.handshake.takes(p[:n]) {
			return n, from, err
		}
	}
}

func (c handshakeAddrPort) WriteToAddrPort(p []byte, to netip.AddrPort) (int, error) {
	return c.fast.WriteToAddrPort(p, to)
}
