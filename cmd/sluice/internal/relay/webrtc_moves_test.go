package relay

import (
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/stun/v4"
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

// A client of one session can make another machine's address its own, by a check that bears that as its sender. Media
// goes there when the machine has shown that it wants it: it has answered a check of the server's.
func TestMediaIsNotSentToAddressesThatAnswerNothing(t *testing.T) {
	s := rtcServe(t, nil)
	p := s.publishing(t, "/live/s.flv")
	tags := flvtest.Clip(t)
	p.send(t, tags[:len(tags)/2]...)
	s.streaming(t, "live/s")
	c := s.rtcWatch(t, "/live/s/whep", rtcOptions{})
	relayEventually(t, "pictures", func() bool { return len(c.got(true)) > 0 })
	ours, theirs := rtcCredentials(c.pc.RemoteDescription().SDP), rtcCredentials(c.pc.LocalDescription().SDP)
	other, err := net.Dial("udp", s.Addresses()["webrtc"])
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	say := func(setters ...stun.Setter) {
		t.Helper()
		m, err := stun.Build(setters...)
		if err != nil {
			t.Fatal(err)
		}
		other.Write(m.Raw)
	}
	claim := func() {
		say(stun.TransactionID, stun.BindingRequest, stun.NewUsername(ours[0]+":"+theirs[0]), ice.PriorityAttr(1<<31-1),
			ice.UseCandidate(), ice.AttrControlling(1<<63), stun.NewShortTermIntegrity(ours[1]), stun.Fingerprint)
	}
	claim()
	buf, asked, answered, more := make([]byte, 1500), 0, false, tags[len(tags)/2:]
	other.SetReadDeadline(time.Now().Add(relayWait))
	for {
		n, err := other.Read(buf)
		if err != nil {
			t.Fatalf("%v; it was asked %d times", err, asked)
		}
		m := &stun.Message{Raw: buf[:n]}
		switch {
		case buf[0]>>6 == 2 && !answered:
			t.Fatal("it is sent media")
		case buf[0]>>6 == 2:
			p.Close()
			return
		case !stun.IsMessage(buf[:n]) || m.Decode() != nil:
		case m.Type == stun.BindingSuccess && !answered: // from here on it is the session's address
			if len(more) > len(tags)/4 {
				p.send(t, more[0])
				more = more[1:]
			}
			claim()
		case m.Type == stun.BindingRequest && !answered:
			if asked++; asked < 3 {
				continue
			}
			answered = true
			say(stun.NewTransactionIDSetter(m.TransactionID), stun.BindingSuccess, stun.NewShortTermIntegrity(theirs[1]), stun.Fingerprint)
			p.send(t, more...)
		}
	}
}

// rtcCredentials returns the name and the password in a description.
func rtcCredentials(text string) (list [2]string) {
	for i, name := range []string{"a=ice-ufrag:", "a=ice-pwd:"} {
		_, rest, _ := strings.Cut(text, name)
		list[i], _, _ = strings.Cut(rest, "\r\n")
	}
	return list
}
