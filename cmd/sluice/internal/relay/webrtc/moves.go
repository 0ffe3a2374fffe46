package webrtc

import (
	"net/netip"
	"strings"
	"time"

	"github.com/pion/stun/v4"
)

// An address is the session's that has answered it first, as the library has it: all that comes from there
// goes to that session. It goes over to another when a check that names that one proves to know its
// password, and the client of the first does not answer: it is gone, and another client has its port. One
// that has several sessions at one port keeps the first, since packets of media do not say of which they are.
const (
	// silentFor is how long the client of the first session may take to answer.
	silentFor = 300 * time.Millisecond
	// askEvery is the least time between two questions to it: the first may be lost.
	askEvery = 50 * time.Millisecond
)

// credentials are what one side of a session is called by, and its password (RFC 8445, section 5.3).
type credentials struct{ ufrag, password string }

func credentialsOf(text string) (c credentials) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		switch {
		case name == "a=ice-ufrag" && c.ufrag == "":
			c.ufrag = value
		case name == "a=ice-pwd" && c.password == "":
			c.password = value
		}
	}
	return c
}

// asks are what the client at an address has been asked, since another claims the address.
type asks struct {
	since, latest time.Time
	id            [stun.TransactionIDSize]byte
}

// passes reports whether a packet, borrowed, from an address that a session has is passed on, which gives the
// address to another session if it may be. The lock is held.
func (q *queued) passes(f *queuedFrom, p []byte, from netip.AddrPort) bool {
	if !stun.IsMessage(p) {
		f.asks = nil // its client sends media
		return true
	}
	m := &stun.Message{Raw: p}
	if m.Decode() != nil {
		return true // which the library drops
	}
	switch m.Type {
	case stun.BindingRequest:
		named := q.named(ufragOf(p))
		switch {
		case named == nil, named == f.session && f.asks == nil && !f.moved:
			return true
		case stun.NewShortTermIntegrity(named.ours.password).Check(m) != nil:
			return named == f.session
		case named != f.session && !q.silent(f, from, time.Now()):
			return false
		}
		q.move(f, named, from)
	case stun.BindingSuccess:
		if q.proves(f, m) {
			return false
		}
		if f.asks != nil && m.TransactionID == f.asks.id {
			if stun.NewShortTermIntegrity(f.session.theirs.password).Check(m) == nil {
				f.asks = nil
			}
			return false
		}
	}
	return true
}

// silent reports whether the client of the session that has an address does not answer, which it is asked by
// a check. The lock is held.
func (q *queued) silent(f *queuedFrom, at netip.AddrPort, now time.Time) bool {
	if f.asks == nil {
		f.asks = &asks{since: now, id: stun.NewTransactionID()}
	}
	if now.Sub(f.asks.since) >= silentFor {
		return true
	}
	if now.Sub(f.asks.latest) < askEvery {
		return false
	}
	f.asks.latest = now
	q.check(f.session, f.asks.id, at)
	return false
}

// move gives an address to a session, in the library's list too, which it gets into by a packet that the
// session writes: an empty one, that is not sent. An earlier one may have written meanwhile, which is mended
// with the next check. The lock is held.
func (q *queued) move(f *queuedFrom, to *handshake, from netip.AddrPort) {
	f.asks = nil
	if f.session != to {
		f.session.proved.Store(nil)
		f.session, f.moved, f.proved, f.proof = to, true, false, nil
		to.addresses++
	}
	if !f.moved {
		return
	}
	for _, c := range to.writers[family(from.Addr())] {
		if _, err := c.WriteToAddrPort(nil, from); err == nil {
			return
		}
	}
}

// family is 0 of addresses of IPv4 and 1 of those of IPv6: a session writes to them in different ways.
func family(a netip.Addr) int {
	if a.Unmap().Is4() {
		return 0
	}
	return 1
}
