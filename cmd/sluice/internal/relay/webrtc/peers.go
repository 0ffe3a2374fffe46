package webrtc

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// ErrNoSession: there is no session with that id, or it is another client's.
var ErrNoSession = errors.New("there is no such session")

func (x *peers) add(p *peer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byID == nil {
		x.byID = map[string]*peer{}
	}
	x.byID[p.id] = p
}

func (x *peers) remove(p *peer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.byID, p.id)
	delete(x.ufrags, p.ufrag)
}

// name gives a session, unless it has ended, the name that its answer has, and that of its client.
func (x *peers) name(p *peer, answer, offer string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byID[p.id] == nil {
		return
	}
	if x.ufrags == nil {
		x.ufrags = map[string]*handshake{}
	}
	p.waits.ours, p.waits.theirs = credentialsOf(answer), credentialsOf(offer)
	p.ufrag = p.waits.ours.ufrag
	x.ufrags[p.ufrag] = p.waits
}

// knows reports whether there is a session with a name.
func (x *peers) knows(ufrag string) bool { return x.named(ufrag) != nil }

// named returns the session with a name, nil if there is none.
func (x *peers) named(ufrag string) *handshake {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.ufrags[ufrag]
}

// find returns the session with an id of a stream and a protocol, if the token is the
// one that it came with. What does not fit looks like no session.
func (x *peers) find(protocol, stream, id, token string) (*peer, error) {
	x.mu.Lock()
	p := x.byID[id]
	x.mu.Unlock()
	if p == nil || p.info.Protocol != protocol || p.info.Stream != stream || !p.is(token) {
		return nil, ErrNoSession
	}
	return p, nil
}

func (x *peers) all() []*peer {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Values(x.byID))
}

func (x *peers) number() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.byID)
}

// enter counts a session until leave is called, once. An error matches session.ErrFull.
func (x *pending) enter(address netip.Addr, c *config.Config) (leave func(), err error) {
	address = network(address)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.all >= c.MaxHandshakes || x.byAddress[address] >= c.MaxHandshakesPerAddress {
		return nil, fmt.Errorf("%w: too many sessions without media; see max-handshakes", session.ErrFull)
	}
	if x.byAddress == nil {
		x.byAddress = map[netip.Addr]int{}
	}
	x.all++
	x.byAddress[address]++
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.all--
		if x.byAddress[address]--; x.byAddress[address] == 0 {
			delete(x.byAddress, address)
		}
	}, nil
}

func (x *pending) number() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.all
}

// network is what counts as one address: a /64 of IPv6.
func network(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return a
}

// is reports whether a request with a token is of the session's client.
func (p *peer) is(token string) bool {
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(sum[:], p.token[:]) == 1
}
