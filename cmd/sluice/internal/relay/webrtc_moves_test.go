package relay

import (
	"net"
	"runtime"
	"testing"

	pion "github.com/pion/webrtc/v4"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
)

// A client at the address and port of one that has just vanished plays at once: it had to wait for the end of
// that one's session, to which all went that came from there.
func TestWebRTCFromThePortOfAClientThatVanished(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a socket there gives no second descriptor that keeps its port")
	}
	s := rtcServe(t, nil)
	p := s.publishing(t, "/live/s.flv")
	tags := flvtest.Clip(t)
	p.send(t, tags[:len(tags)/2]...)
	s.streaming(t, "live/s")
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	port, err := socket.File() // keeps it when the first client is gone
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	first := s.rtcWatch(t, "/live/s/whep", rtcOptions{socket: socket})
	relayEventually(t, "pictures", func() bool { return len(first.got(true)) > 0 })
	socket.Close() // it has no chance to say that it leaves
	again, err := net.FilePacketConn(port)
	if err != nil {
		t.Fatal(err)
	}
	second := s.rtcWatch(t, "/live/s/whep", rtcOptions{socket: again})
	second.until(pion.PeerConnectionStateConnected)
	if n := s.webrtc.Figures().Sessions; n != 2 {
		t.Errorf("%d sessions: the first had to end before", n)
	}
	relayEventually(t, "pictures for the second", func() bool { return len(second.got(true)) > 0 })
	p.Close()
}
