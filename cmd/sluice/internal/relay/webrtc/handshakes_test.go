package webrtc

import (
	"io"
	"net"
	"net/netip"
	"testing"
)

// sent is a connection on which packets have come.
type sent struct {
	net.PacketConn
	packets [][]byte
}

func (s *sent) ReadFromAddrPort(p []byte) (int, netip.AddrPort, error) {
	if len(s.packets) == 0 {
		return 0, netip.AddrPort{}, io.EOF
	}
	n := copy(p, s.packets[0])
	s.packets = s.packets[1:]
	return n, netip.AddrPort{}, nil
}

func (s *sent) ReadFrom(p []byte) (int, net.Addr, error) {
	n, from, err := s.ReadFromAddrPort(p)
	return n, net.UDPAddrFromAddrPort(from), err
}

func (s *sent) WriteToAddrPort(p []byte, _ netip.AddrPort) (int, error) { return len(p), nil }

// A client that sends parts of handshakes without end has few of them kept, over all its
// connections; checks and media pass.
func TestHandshakesAreBounded(t *testing.T) {
	const each, parts = 1000, 200
	var packets [][]byte
	for range parts {
		part, check, media := make([]byte, each), make([]byte, each), make([]byte, each)
		part[0], check[0], media[0] = 22, 0, 128
		packets = append(packets, part, check, media)
	}
	h := &handshake{}
	over := func() handshakeAddrPort {
		s := &sent{packets: packets}
		return handshakeAddrPort{handshakePackets{s, h}, s}
	}
	first, second := over(), over()
	got := map[byte]int{}
	for name, read := range map[string]func(p []byte) (int, error){
		"with an address that is allocated": func(p []byte) (int, error) { n, _, err := first.ReadFrom(p); return n, err },
		"without":                           func(p []byte) (int, error) { n, _, err := second.ReadFromAddrPort(p); return n, err },
	} {
		p := make([]byte, 2*each)
		for {
			n, err := read(p)
			if err == io.EOF {
				break
			}
			if err != nil || n != each {
				t.Fatalf("%s: %d bytes, %v", name, n, err)
			}
			got[p[0]]++
		}
	}
	if got[0] != 2*parts || got[128] != 2*parts {
		t.Errorf("of %d checks and as much media %d and %d pass", 2*parts, got[0], got[128])
	}
	if n := got[22] * each; n < 16<<10 || n > maxHandshake {
		t.Errorf("%d bytes of handshakes pass", n)
	}
}
