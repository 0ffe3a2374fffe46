package webrtc

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pion/stun/v4"
)

// Of what comes over UDP faster than sessions take it the library keeps so much, of each address and of
// all; who sends little loses nothing for it, and a session that is over leaves nothing behind.
func TestPacketsThatAreNotTakenAreBounded(t *testing.T) {
	const crowd = 80
	q := &queued{named: func(string) *handshake { return nil }}
	media := []byte{128, 96}
	var sessions []*handshake
	address := func(i int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), 5000)
	}
	for i := range crowd + 1 {
		h := newHandshake(nil)
		sessions = append(sessions, h)
		q.answers(address(i), h, nil)
	}
	kept := 0
	for i := range crowd {
		n := 0
		for range 4 * maxQueued {
			if q.takes(media, address(i)) {
				n++
			}
		}
		if n < fairQueued || n > maxQueued {
			t.Fatalf("%d packets of one address are kept", n)
		}
		kept += n
	}
	if most := maxQueuedAll + crowd*fairQueued; kept > most || q.all != kept {
		t.Fatalf("%d packets are kept, %d are known, at most %d", kept, q.all, most)
	}
	for i := range 100 {
		if !q.takes(media, address(crowd)) {
			t.Fatalf("packet %d of one that sends little is lost", i)
		}
		q.taken(address(crowd))
	}
	for range maxQueued { // one is read
		q.taken(address(0))
	}
	if !q.takes(media, address(0)) {
		t.Error("what comes to a session that has read everything is lost")
	}
	for _, h := range sessions {
		q.forget(h)
	}
	if q.all != 0 || len(q.from) != 0 {
		t.Errorf("%d packets of %d addresses are known when all sessions are over", q.all, len(q.from))
	}
}

// So are checks from addresses without end, for sessions that there are: others the library drops.
func TestChecksFromAnyAddressAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine := newHandshake(nil)
		q := &queued{named: func(ufrag string) *handshake {
			if ufrag == "mine" {
				return mine
			}
			return nil
		}}
		check := func(name string) []byte {
			m, err := stun.Build(stun.BindingRequest, stun.TransactionID, stun.NewUsername(name+":other"))
			if err != nil {
				t.Fatal(err)
			}
			return m.Raw
		}
		taken := func(p []byte) (n int) {
			for port := range uint16(10 * maxFirstChecks) {
				if q.takes(p, netip.AddrPortFrom(netip.IPv4Unspecified(), port)) {
					n++
				}
			}
			return n
		}
		if n := taken(check("another")); n != 10*maxFirstChecks {
			t.Errorf("%d checks for no session are for the library to drop", n)
		}
		if n := taken(check("mine")); n != maxFirstChecks {
			t.Errorf("%d checks are taken at once", n)
		}
		<-time.After(firstTime)
		if n := taken(check("mine")); n != maxFirstChecks {
			t.Errorf("%d checks are taken later", n)
		}
	})
}

// Reports without end are lost beyond what a client needs, those that come later are not, nor is media.
func TestReportsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandshake(nil)
		passed := func() (n int) {
			for range 10 * maxReports {
				if h.takes([]byte{128, 200}) {
					n++
				}
			}
			return n
		}
		for range 3 {
			if n := passed(); n != maxReports {
				t.Errorf("%d reports of %d pass", n, 10*maxReports)
			}
			if !h.takes([]byte{128, 96}) {
				t.Error("media is lost for reports")
			}
			<-time.After(time.Second)
		}
	})
}

// The addresses that count are those that the library knows for a session's, which are those that it
// has answered. Checks from others it may drop without a word: they do not count, and take no place.
func TestAddressesThatCountAreThoseAnswered(t *testing.T) {
	q := &queued{named: func(string) *handshake { return nil }}
	address := func(port uint16) netip.AddrPort { return netip.AddrPortFrom(netip.IPv4Unspecified(), port) }
	session := func() handshakeAddrPort {
		s := &sent{packets: make([][]byte, 4*maxAddresses)}
		return handshakeAddrPort{handshakePackets{s, newHandshake(nil), q}, s}
	}
	first, second := session(), session()
	for port := range uint16(4 * maxAddresses) {
		from := address(port)
		first.fast.(*sent).from = from
		if _, _, err := first.ReadFromAddrPort(nil); err != nil {
			t.Fatal(err)
		}
		broken := []byte{0, 1, 0, 8, 0x21, 0x12, 0xa4, 0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
		if q.takes(broken, from); q.all != 0 {
			t.Fatalf("%d packets are known that no session gets", q.all)
		}
	}
	bounded := func(what string, by handshakeAddrPort) {
		t.Helper()
		to := address(5 * maxAddresses)
		if _, err := by.WriteToAddrPort([]byte{1}, to); err != nil {
			t.Fatal(err)
		}
		n := 0
		for range 2 * maxQueued {
			if q.takes([]byte{128, 96}, to) {
				n++
			}
		}
		if n != maxQueued || q.all != maxQueued {
			t.Errorf("%s: %d packets of media are kept, %d are known", what, n, q.all)
		}
		for range n {
			q.taken(to)
		}
	}
	bounded("an address behind many that were not answered", first)
	taken := address(5 * maxAddresses)
	if n, err := second.WriteToAddrPort([]byte{1}, taken); n != 1 || err != nil || second.fast.(*sent).written[taken] != 0 {
		t.Errorf("what a session writes to an address that another has: %d, %v", n, err)
	}
	q.forget(first.handshake)
	bounded("when that one is over", second)
	q.forget(second.handshake)
	if _, err := first.WriteToAddrPort(nil, address(1)); err != nil || len(q.from) != 0 {
		t.Errorf("%d addresses are known when both are over (%v)", len(q.from), err)
	}
}

// When memory is short, no more media over UDP waits than over TCP. What the library drops counts for
// a while only.
func TestMediaOverUDPIsLostWhenMemoryIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short := false
		h := newHandshake(func() bool { return short })
		passed := func() (n int) {
			for range 10 * maxInside {
				if h.takes([]byte{128, 96}) {
					n++
				}
			}
			return n
		}
		if n := passed(); n != 10*maxInside {
			t.Errorf("%d packets pass while there is memory", n)
		}
		short = true
		if n := passed(); n != 0 {
			t.Errorf("%d packets pass when memory is short", n)
		}
		for range 10 * maxInside {
			h.leave()
		}
		if n := passed(); n != maxInside {
			t.Errorf("%d packets pass when all before are read", n)
		}
		passed()
		<-time.After(stuck)
		if n := passed(); n == 0 {
			t.Error("no packet passes when those before were dropped")
		}
	})
}
