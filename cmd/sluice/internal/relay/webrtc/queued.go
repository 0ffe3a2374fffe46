package webrtc

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/pion/stun/v4"
)

const (
	// The library keeps what has come over UDP until the goroutine of the session takes it, 8 KB for
	// each packet, and as many as come. maxQueued may be kept from one address, maxQueuedAll from all:
	// more is lost, as on the way, but from addresses of which no more than fairQueued are.
	maxQueued, maxQueuedAll, fairQueued = 512, 1024, 16
	// maxFirstChecks packets for sessions are taken within firstTime from addresses from which those have
	// taken none yet: each is checked from some.
	maxFirstChecks, firstTime = 128, 20 * time.Millisecond
)

// queued counts the packets that have come over UDP and that their sessions have not taken.
type queued struct {
	known func(ufrag string) bool // there is a session of that name

	mu     sync.Mutex
	from   map[netip.AddrPort]*queuedFrom
	all    int
	checks int // from addresses that are not in from, since
	since  time.Time
}

// queuedFrom is an address from which a session has taken packets.
type queuedFrom struct {
	session *handshake
	packets int
}

// takes reports whether the library may have a packet, borrowed.
func (q *queued) takes(p []byte, from netip.AddrPort) bool {
	from = unmapped(from)
	q.mu.Lock()
	f := q.from[from]
	if f == nil {
		q.mu.Unlock()
		return !stun.IsMessage(p) || !q.known(ufragOf(p)) || q.first(time.Now())
	}
	defer q.mu.Unlock()
	if f.packets >= fairQueued && (f.packets >= maxQueued || q.all >= maxQueuedAll) {
		return false
	}
	f.packets++
	q.all++
	return true
}

// first reports whether a session may have one more packet from an address that it does not know.
func (q *queued) first(now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now.Sub(q.since) >= firstTime {
		q.since, q.checks = now, 0
	}
	q.checks++
	return q.checks <= maxFirstChecks
}

// taken takes note that a session has a packet from an address, or nil that none will.
func (q *queued) taken(from netip.AddrPort, by *handshake) {
	from = unmapped(from)
	q.mu.Lock()
	defer q.mu.Unlock()
	f := q.from[from]
	switch {
	case f == nil && (by == nil || by.addresses >= maxAddresses):
		return
	case f == nil:
		f = &queuedFrom{}
		if q.from == nil {
			q.from = map[netip.AddrPort]*queuedFrom{}
		}
		q.from[from] = f
	case f.packets > 0:
		f.packets--
		q.all--
	}
	if by != nil && by != f.session {
		if f.session != nil {
			f.session.addresses--
		}
		f.session = by
		by.addresses++
	}
}

// forget forgets the addresses of a session that is over: what was kept for it is gone.
func (q *queued) forget(by *handshake) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for from, f := range q.from {
		if f.session == by {
			q.all -= f.packets
			delete(q.from, from)
		}
	}
	by.addresses = 0
}

func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// queuedUDP is the port of UDP as the library reads it.
type queuedUDP struct {
	*net.UDPConn
	queued *queued
}

func (c queuedUDP) ReadFromAddrPort(p []byte) (int, netip.AddrPort, error) {
	for {
		n, from, err := c.ReadFromUDPAddrPort(p)
		if err != nil || c.queued.takes(p[:n], from) {
			return n, from, err
		}
	}
}

func (c queuedUDP) WriteToAddrPort(p []byte, to netip.AddrPort) (int, error) {
	return c.WriteToUDPAddrPort(p, to)
}
