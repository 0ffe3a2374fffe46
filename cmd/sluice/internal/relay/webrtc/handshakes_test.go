package webrtc

import (
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pion/transport/v5/packetio"
)

// sent is a connection on which packets have come.
type sent struct {
	net.PacketConn
	packets [][]byte
	from    netip.AddrPort
	written map[netip.AddrPort]int // packets, by where to
}

func (s *sent) ReadFromAddrPort(p []byte) (int, netip.AddrPort, error) {
	if len(s.packets) == 0 {
		return 0, netip.AddrPort{}, io.EOF
	}
	n := copy(p, s.packets[0])
	s.packets = s.packets[1:]
	return n, s.from, nil
}

func (s *sent) ReadFrom(p []byte) (int, net.Addr, error) {
	n, from, err := s.ReadFromAddrPort(p)
	return n, net.UDPAddrFromAddrPort(from), err
}

func (s *sent) WriteToAddrPort(p []byte, to netip.AddrPort) (int, error) {
	if s.written == nil {
		s.written = map[netip.AddrPort]int{}
	}
	s.written[to]++
	return len(p), nil
}

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
	h := newHandshake(func() bool { return false })
	over := func() handshakeAddrPort {
		s := &sent{packets: packets}
		return handshakeAddrPort{handshakePackets{s, h, nil}, s}
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

// Over TCP a client waits while much of its media does: it was all taken, and kept. What the
// library drops counts for a while only.
func TestMediaOverTCPWaitsAtTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each, tooLong = 1000, 3 * maxInside
		var packets [][]byte
		for i := range 20 * maxInside {
			p := make([]byte, each)
			if i == tooLong {
				p = make([]byte, readSize+1)
			}
			p[0] = 128
			packets = append(packets, p)
		}
		h := newHandshake(func() bool { return false })
		c := handshakeStream{handshakePackets{&sent{packets: packets}, h, nil}}
		x := &buffers{media: true, all: new(atomic.Int64), end: func(error) {}, left: h.leave}
		track := x.buffer(packetio.RTPBufferPacket, 0)
		p := make([]byte, readSize)
		for range probeReads + 1 { // it is of a track
			if _, err := track.Write(packets[0]); err != nil {
				t.Fatal(err)
			}
			if _, err := track.Read(p); err != nil {
				t.Fatal(err)
			}
		}
		var taken atomic.Int64
		var dropped atomic.Bool
		over := make(chan struct{})
		go func() {
			defer close(over)
			p := make([]byte, 2*readSize)
			for {
				n, _, err := c.ReadFrom(p)
				if err != nil {
					return
				}
				if taken.Add(1); !dropped.Load() {
					_, _ = track.Write(p[:n])
				}
			}
		}()
		read := int64(0)
		for range 10 * maxInside {
			synctest.Wait()
			if n := taken.Load() - read; n < maxInside || n > maxInside+1 {
				t.Fatalf("%d packets are taken and not read, after %d", n, read)
			}
			if n, err := track.Read(p); n != each || err != nil {
				t.Fatal(n, err)
			}
			read++
		}
		synctest.Wait()
		begun, before := time.Now(), taken.Load()
		dropped.Store(true)
		for synctest.Wait(); taken.Load() < int64(len(packets))-1 && taken.Load() < before+4*maxInside; synctest.Wait() {
			<-time.After(stuck)
		}
		if d := time.Since(begun); taken.Load() < before+4*maxInside || d > 8*stuck {
			t.Errorf("%d packets are taken of which none comes out, in %v", taken.Load()-before, d)
		}
		<-over
	})
}
