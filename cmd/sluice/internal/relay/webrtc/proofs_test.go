package webrtc

import (
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/stun/v4"
)

// swallow takes what is written.
type swallow struct{ net.PacketConn }

func (swallow) WriteTo(p []byte, _ net.Addr) (int, error) { return len(p), nil }

// Media goes to an address of a session that has answered a check, and to one to which all of the handshake went.
func TestMediaGoesWhereItIsWanted(t *testing.T) {
	media, other := []byte{128, 96}, []byte{22}
	home, elsewhere := netip.MustParseAddrPort("192.0.2.1:5000"), netip.MustParseAddrPort("192.0.2.2:53")
	for _, c := range []struct {
		name  string
		begin func(w handshakeAddrPort) // before the session has another address
		asked bool                      // the first address too
	}{
		{"media before", func(w handshakeAddrPort) {
			w.WriteToAddrPort(other, home)
			w.WriteToAddrPort(media, home)
		}, false},
		{"two at first", func(w handshakeAddrPort) { w.WriteToAddrPort(other, home) }, true},
		{"over TCP", func(w handshakeAddrPort) { handshakePackets{swallow{}, w.handshake, nil}.WriteTo(other, nil) }, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked := map[netip.AddrPort][]*stun.Message{}
			s, h := &sent{}, newHandshake(nil)
			q := &queued{named: func(string) *handshake { return h }, send: func(p []byte, to netip.AddrPort) (int, error) {
				m := &stun.Message{Raw: append([]byte{}, p...)}
				if err := m.Decode(); err != nil {
					t.Fatal(err)
				}
				asked[to] = append(asked[to], m)
				return len(p), nil
			}}
			h.ours, h.theirs = credentials{"server", "its password"}, credentials{"client", "another password"}
			h.writers[0] = []ice.AddrPortReaderWriter{s}
			w := handshakeAddrPort{handshakePackets{s, h, q}, s}
			c.begin(w)
			if len(asked) > 0 {
				t.Errorf("%s: one address is asked", c.name)
			}
			sends := func(p []byte, to netip.AddrPort) bool {
				before := s.written[to]
				w.WriteToAddrPort(p, to)
				return s.written[to] > before
			}
			answer := func(from netip.AddrPort, id [stun.TransactionIDSize]byte, password string) {
				m, err := stun.Build(stun.NewTransactionIDSetter(id), stun.BindingSuccess, stun.NewShortTermIntegrity(password), stun.Fingerprint)
				if err != nil {
					t.Fatal(err)
				}
				q.takes(m.Raw, from)
			}
			if !sends(other, elsewhere) {
				t.Errorf("%s: a check is not answered", c.name)
			}
			for range 60 * 100 { // a minute
				if sends(media, elsewhere) {
					t.Fatalf("%s: media goes to an address that says nothing", c.name)
				}
				<-time.After(10 * time.Millisecond)
			}
			if n := len(asked[elsewhere]); n < 5 || n > 25 {
				t.Errorf("%s: it is asked %d times in a minute", c.name, n)
			}
			check := asked[elsewhere][0]
			answer(elsewhere, stun.NewTransactionID(), h.theirs.password)
			answer(elsewhere, check.TransactionID, h.ours.password)
			answer(home, check.TransactionID, h.theirs.password)
			if sends(media, elsewhere) {
				t.Errorf("%s: media goes there after an answer that proves nothing", c.name)
			}
			answer(elsewhere, check.TransactionID, h.theirs.password)
			for range 2 {
				if !sends(media, elsewhere) {
					t.Errorf("%s: no media goes to an address that has proved itself", c.name)
				}
			}
			if sends(media, home) == c.asked || len(asked[home]) > 0 != c.asked {
				t.Errorf("%s: the first address is asked %d times", c.name, len(asked[home]))
			}
		})
	}
}
