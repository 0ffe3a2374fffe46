package webrtc

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/stun/v4"
)

// moving are two sessions, of which the first has an address.
type moving struct {
	t             *testing.T
	q             *queued
	first, second handshakeAddrPort
	at            netip.AddrPort
	asked         []*stun.Message // what the client at the address was sent without a session's doing
}

func newMoving(t *testing.T) *moving {
	m := &moving{t: t, at: netip.MustParseAddrPort("192.0.2.1:5000")}
	sessions := map[string]*handshake{}
	m.q = &queued{named: func(ufrag string) *handshake { return sessions[ufrag] }, send: func(p []byte, to netip.AddrPort) (int, error) {
		asked := &stun.Message{Raw: append([]byte{}, p...)}
		if err := asked.Decode(); err != nil || to != m.at {
			t.Errorf("%v is sent %x: %v", to, p, err)
		}
		m.asked = append(m.asked, asked)
		return len(p), nil
	}}
	session := func(name string) handshakeAddrPort {
		s, h := &sent{}, newHandshake(nil)
		h.ours, h.theirs = credentials{name, name + "'s password"}, credentials{"client of " + name, "its password for " + name}
		h.writers[0] = []ice.AddrPortReaderWriter{s}
		sessions[name] = h
		return handshakeAddrPort{handshakePackets{s, h, m.q}, s}
	}
	m.first, m.second = session("first"), session("second")
	if _, err := m.first.WriteToAddrPort([]byte{1}, m.at); err != nil {
		t.Fatal(err)
	}
	return m
}

// check makes a check for a session and reports whether it is passed on.
func (m *moving) check(to handshakeAddrPort, password string) bool {
	c := to.handshake
	return m.message(stun.BindingRequest, stun.TransactionID, stun.NewUsername(c.ours.ufrag+":"+c.theirs.ufrag), ice.PriorityAttr(1), stun.NewShortTermIntegrity(password), stun.Fingerprint)
}

// mine is check by the session's own client.
func (m *moving) mine(to handshakeAddrPort) bool { return m.check(to, to.handshake.ours.password) }

func (m *moving) message(s ...stun.Setter) bool {
	m.t.Helper()
	p, err := stun.Build(s...)
	if err != nil {
		m.t.Fatal(err)
	}
	return m.q.takes(p.Raw, m.at)
}

// owned checks whose the address is: the other's packets to it are lost.
func (m *moving) owned(by, not handshakeAddrPort) {
	m.t.Helper()
	for _, one := range []handshakeAddrPort{not, by} {
		before := one.fast.(*sent).written[m.at]
		if _, err := one.WriteToAddrPort([]byte{1}, m.at); err != nil {
			m.t.Fatal(err)
		}
		if wrote := one.fast.(*sent).written[m.at] > before; wrote != (one.handshake == by.handshake) {
			m.t.Errorf("%s writes: %v", one.handshake.ours.ufrag, wrote)
		}
	}
}

// A client that comes from the address of one that has gone is let in without waiting for the end of that
// one's session, as soon as the first client does not answer a check.
func TestAddressMovesToTheNextClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMoving(t)
		tries := 0
		for ; !m.mine(m.second); tries++ {
			if tries > 20 {
				t.Fatal("never")
			}
			m.owned(m.first, m.second)
			<-time.After(48 * time.Millisecond)
		}
		if tries == 0 || len(m.asked) < 2 {
			t.Errorf("after %d checks, the client was asked %d times", tries, len(m.asked))
		}
		for _, one := range m.asked {
			var name stun.Username
			if name.GetFrom(one) != nil || name.String() != "client of first:first" || one.Type != stun.BindingRequest ||
				stun.NewShortTermIntegrity("its password for first").Check(one) != nil || !one.Contains(stun.AttrICEControlled) {
				t.Errorf("it is asked %v", one)
			}
		}
		if m.second.fast.(*sent).written[m.at] != 1 {
			t.Error("the library does not have it from the session")
		}
		m.owned(m.second, m.first)
		if !m.mine(m.second) || !m.q.takes([]byte{22, 254}, m.at) {
			t.Error("what the new client sends is lost")
		}
		// A packet that the first was writing may have put the library's list back.
		if m.second.fast.(*sent).written[m.at] != 3 {
			t.Error("the library's list is not mended with the next check")
		}
		m.q.forget(m.first.handshake)
		if !m.mine(m.second) {
			t.Error("the end of the first session takes the address from the second")
		}
		m.q.forget(m.second.handshake)
		if len(m.q.from) != 0 || m.q.all != 0 {
			t.Errorf("%d addresses are left, %d packets", len(m.q.from), m.q.all)
		}
	})
}

// What proves no password moves no address, nor does it keep one.
func TestAddressIsNotStolen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMoving(t)
		for range 100 {
			if m.check(m.second, "guess") || m.check(m.second, m.first.handshake.ours.password) ||
				m.message(stun.BindingRequest, stun.TransactionID, stun.NewUsername("second:client of second")) {
				t.Fatal("a check without the password is passed on")
			}
			m.message(stun.BindingSuccess, stun.TransactionID, stun.NewShortTermIntegrity(m.second.handshake.ours.password))
			<-time.After(48 * time.Millisecond)
		}
		if len(m.asked) != 0 {
			t.Errorf("the client was asked %d times", len(m.asked))
		}
		m.owned(m.first, m.second)
		moved := false
		for range 20 {
			m.check(m.first, "guess")
			if n := len(m.asked); n > 0 {
				m.message(stun.BindingSuccess, stun.NewTransactionIDSetter(m.asked[n-1].TransactionID), stun.NewShortTermIntegrity("guess"))
				m.message(stun.BindingError, stun.NewTransactionIDSetter(m.asked[n-1].TransactionID))
			}
			moved = moved || m.mine(m.second)
			<-time.After(48 * time.Millisecond)
		}
		if !moved {
			t.Error("forged packets keep an address")
		}
	})
}

// A client that has two sessions at one port keeps the first, which it is not asked about in vain.
func TestClientOfTwoSessionsKeepsTheFirst(t *testing.T) {
	for name, lives := range map[string]func(m *moving, i int){
		"it answers": func(m *moving, _ int) {
			for _, one := range m.asked {
				if m.message(stun.BindingSuccess, stun.NewTransactionIDSetter(one.TransactionID), stun.NewShortTermIntegrity("its password for first")) {
					m.t.Error("the library has an answer that it did not ask for")
				}
			}
			m.asked = nil
		},
		"it sends media": func(m *moving, _ int) {
			if !m.q.takes([]byte{128, 96}, m.at) {
				m.t.Error("media is lost")
			}
			m.q.taken(m.at)
		},
		"it checks": func(m *moving, i int) {
			if i%4 == 0 && !m.mine(m.first) {
				m.t.Error("a check is lost")
			}
			m.q.taken(m.at)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMoving(t)
				for i := range 100 {
					if m.mine(m.second) {
						t.Fatalf("check %d of the second session is passed on", i)
					}
					lives(m, i)
					<-time.After(48 * time.Millisecond)
				}
				m.owned(m.first, m.second)
			})
		})
	}
}
