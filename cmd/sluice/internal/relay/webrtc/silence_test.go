package webrtc

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// A client is lost when nothing has come from it for so long: not while something does, by UDP or TCP.
func TestWhoSaysNothingIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tcp := range []bool{false, true} {
			h := newHandshake(nil)
			s := &sent{from: netip.MustParseAddrPort("192.0.2.1:5000")}
			c := handshakeAddrPort{handshakePackets{s, h, nil}, s}
			lost := make(chan bool, 1)
			go func() { lost <- h.silence(nil) }()
			const check = 5 * time.Second
			for range 10 {
				s.packets = append(s.packets, []byte{0, 1})
				var err error
				if p := make([]byte, 8); tcp {
					_, _, err = handshakeStream{c.handshakePackets}.ReadFrom(p)
				} else {
					_, _, err = c.ReadFromAddrPort(p)
				}
				if err != nil {
					t.Fatal(err)
				}
				<-time.After(check)
			}
			heard := time.Now().Add(-check)
			if len(lost) != 0 {
				t.Fatal("one that checks is lost")
			}
			if !<-lost || time.Since(heard) < lostAfter || time.Since(heard) > lostAfter+2*lostAfter/lostSteps {
				t.Errorf("lost after %v", time.Since(heard))
			}
		}
		done := make(chan struct{})
		close(done)
		if newHandshake(nil).silence(done) {
			t.Error("one whose session is over is lost")
		}
	})
}
