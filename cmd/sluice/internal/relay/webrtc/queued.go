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
	// maxFirstChecks packets for sessions are taken within firstTime from addresses that those have not
	// answered yet: each is checked from some.
	maxFirstChecks, firstTime = 128, 20 * time.Millisecond
)

// queued counts the packets that have come over UDP and that their sessions have not taken.
type queued struct {
	named func(ufrag string) *handshake                        // the session of a name, nil: there is none
	send  func(p []byte, to netip.AddrPort) (n int, err error) // borrows p

	mu     sync.Mutex
	from   map[netip.AddrPort]*queuedFrom
	all    int
	checks int // from addresses that are not in from, since
	since  time.Time
}

// queuedFrom is an address that a session has answered: the library then gives it all that comes from there.
type queuedFrom struct {
	session *handshake
	moved   bool // it was another's before
	packets int
	asks    *asks  // nil: no other claims the address
	proved  bool   // media may go there
	proof   *proof // nil: it was not asked for one
}

// takes reports whether the library may have a packet, borrowed.
func (q *queued) takes(p []byte, from netip.AddrPort) bool {
	from = unmapped(from)
	q.mu.Lock()
	f := q.from[from]
	if f == nil {
		q.mu.Unlock()
		return !stun.IsMessage(p) || q.named(ufragOf(p)) == nil || q.first(time.Now())
	}
	defer q.mu.Unlock()
	if !q.passes(f, p, from) {
		return false
	}
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

// taken takes note that a session has a packet from an address, or that none will.
func (q *queued) taken(from netip.AddrPort) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if f := q.from[unmapped(from)]; f != nil && f.packets > 0 {
		f.packets--
		q.all--
	}
}

// answers takes note that a session writes a packet, borrowed, to an address, and reports false when another has it, or
// the packet is media and the address not proved.
func (q *queued) answers(to netip.AddrPort, by *handshake, p []byte) bool {
	to = unmapped(to)
	if proved := by.proved.Load(); proved != nil && *proved == to {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if by.over {
		return true // the library refuses it
	}
	f := q.from[to]
	if f == nil {
		f = &queuedFrom{session: by}
		by.addresses++
		if q.from == nil {
			q.from = map[netip.AddrPort]*queuedFrom{}
		}
		q.from[to] = f
	}
	if f.session != by {
		return false
	}
	if !q.mayHave(f, isMedia(p), to, time.Now()) {
		return false
	}
	if f.proved {
		latest := to
		by.proved.Store(&latest)
	}
	return true
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
	by.over = true
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
	if len(p) == 0 {
		return 0, nil // see queued.move
	}
	return c.WriteToUDPAddrPort(p, to)
}
