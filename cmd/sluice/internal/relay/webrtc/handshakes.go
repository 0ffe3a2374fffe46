package webrtc

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/ice/v4"
)

// maxHandshake is how many bytes of DTLS a client may send in a session: more is lost, as on the
// way. A handshake is a few kilobytes, and again for each repetition. The library keeps up to
// 2 MB of parts of messages that are never whole.
const maxHandshake = 64 << 10

const (
	// maxInside is how many packets of media of a client over TCP may wait to be read, of which
	// the library alone would keep 2 MB: more wait in the kernel, and then at the client.
	maxInside = 40
	// stuck is the time without one that is read after which none counts: the library drops
	// what comes twice, and what is not the client's.
	stuck = time.Second
)

// A handshake counts what has come of a session's DTLS, and its media that waits.
type handshake struct {
	short  func() bool // there is little memory
	bytes  atomic.Int64
	heard  atomic.Int64              // packets in all
	inside atomic.Int64              // packets of media that are not read yet
	left   chan struct{}             // one has been
	full   atomic.Pointer[time.Time] // since when they are too many; nil: they are not
	report reports

	// Of queued: the address that was written to latest, if it may have media.
	proved       atomic.Pointer[netip.AddrPort]
	stream       atomic.Bool                   // it has written over TCP
	addresses    int                           // that it has answered, under the lock of queued
	over         bool                          // under its lock
	ours, theirs credentials                   // set before others find the session
	writers      [2][]ice.AddrPortReaderWriter // to IPv4 and IPv6, likewise
}

func newHandshake(short func() bool) *handshake {
	return &handshake{short: short, left: make(chan struct{}, 1)}
}

// takes reports whether a packet, borrowed, is taken: by its first byte it may be of DTLS
// (RFC 7983, section 7). RTP is counted and RTCP bounded (RFC 5761, section 4), but for what is too
// long and lost.
func (h *handshake) takes(p []byte) bool {
	h.heard.Add(1)
	if len(p) > 1 && len(p) <= readSize && p[0] >= 128 && p[0] <= 191 {
		if p[1] >= 192 && p[1] <= 223 {
			return h.report.takes(time.Now())
		}
		if h.overflows() {
			return false
		}
		h.inside.Add(1)
	}
	return len(p) == 0 || p[0] < 20 || p[0] > 63 || h.bytes.Add(int64(len(p))) <= maxHandshake
}

// maxReports is how many packets of RTCP a client may send at once, and each second: more is lost, as on
// the way. A browser sends a few for each hundred of media. The library keeps up to 2 MB of them.
const maxReports = 256

// reports counts the packets of RTCP that may come at a time.
type reports struct {
	mu    sync.Mutex
	taken float64 // of those that may come at once
	at    time.Time
}

func (r *reports) takes(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = max(r.taken-now.Sub(r.at).Seconds()*maxReports, 0)
	r.at = now
	if r.taken+1 > maxReports {
		return false
	}
	r.taken++
	return true
}

// overflows reports whether so much waits that one more packet of media is lost, as on the way: over
// UDP, when memory is short.
func (h *handshake) overflows() bool {
	if h.inside.Load() < maxInside || !h.short() {
		return false
	}
	since := h.full.Load()
	if since == nil {
		now := time.Now()
		h.full.Store(&now)
		return true
	}
	if time.Since(*since) < stuck {
		return true
	}
	h.inside.Store(0)
	h.full.Store(nil)
	return false
}

// leave takes note that a packet of media waits no more.
func (h *handshake) leave() {
	if h.full.Load() != nil {
		h.full.Store(nil)
	}
	if h.inside.Add(-1) < 0 {
		h.inside.Add(1) // it was taken as stuck
	}
	select {
	case h.left <- struct{}{}:
	default:
	}
}

// wait waits while as many wait as may.
func (h *handshake) wait() {
	for h.inside.Load() >= maxInside {
		late := time.NewTimer(stuck)
		select {
		case <-h.left:
		case <-late.C:
			h.inside.Store(0)
		}
		late.Stop()
	}
}

// handshakeUDP is the port of UDP as one session has it.
type handshakeUDP struct {
	*ice.UDPMuxDefault
	handshake *handshake
	queued    *queued
	loopback  bool
}

func (m handshakeUDP) GetConn(ufrag string, addr net.Addr) (net.PacketConn, error) {
	c, err := m.UDPMuxDefault.GetConn(ufrag, addr)
	if err != nil {
		return nil, err
	}
	packets := handshakePackets{c, m.handshake, m.queued}
	if fast, ok := c.(ice.AddrPortReaderWriter); ok {
		if a, ok := addr.(*net.UDPAddr); ok {
			writers := &m.handshake.writers[family(a.AddrPort().Addr())]
			*writers = append(*writers, fast)
		}
		return handshakeAddrPort{packets, fast}, nil
	}
	return packets, nil
}

// GetListenAddresses leaves the loopback out where only other machines reach the port: the
// library does for its own type only.
func (m handshakeUDP) GetListenAddresses() []net.Addr {
	return slices.DeleteFunc(m.UDPMuxDefault.GetListenAddresses(), func(a net.Addr) bool {
		u, ok := a.(*net.UDPAddr)
		return ok && u.IP.IsLoopback() && !m.loopback
	})
}

// handshakeTCP is the port of TCP as one session has it.
type handshakeTCP struct {
	*ice.TCPMuxDefault
	handshake *handshake
}

func (m handshakeTCP) GetConnByUfrag(ufrag string, isIPv6 bool, local net.IP) (net.PacketConn, error) {
	c, err := m.TCPMuxDefault.GetConnByUfrag(ufrag, isIPv6, local)
	if err != nil {
		return nil, err
	}
	return handshakeStream{handshakePackets{c, m.handshake, nil}}, nil
}

// handshakeStream are the packets of a session over TCP, which the client has to wait with.
// Those that are too long are not passed on: the library would lose them later.
type handshakeStream struct{ handshakePackets }

func (c handshakeStream) ReadFrom(p []byte) (int, net.Addr, error) {
	for {
		c.handshake.wait()
		n, from, err := c.handshakePackets.ReadFrom(p)
		if err != nil || n <= readSize {
			return n, from, err
		}
	}
}

// handshakePackets are the packets of a session.
type handshakePackets struct {
	net.PacketConn
	handshake *handshake
	queued    *queued // nil over TCP
}

func (c handshakePackets) ReadFrom(p []byte) (int, net.Addr, error) {
	for {
		n, from, err := c.PacketConn.ReadFrom(p)
		if a, ok := from.(*net.UDPAddr); ok && err == nil && c.queued != nil {
			c.queued.taken(a.AddrPort())
		}
		if err != nil || c.handshake.takes(p[:n]) {
			return n, from, err
		}
	}
}

func (c handshakePackets) WriteTo(p []byte, to net.Addr) (int, error) {
	if a, ok := to.(*net.UDPAddr); ok && c.queued != nil && !c.queued.answers(a.AddrPort(), c.handshake, p) {
		return len(p), nil // lost, as on the way
	}
	if c.queued == nil {
		c.handshake.stream.Store(true)
	}
	return c.PacketConn.WriteTo(p, to)
}

// handshakeAddrPort is the same without an allocation for each packet.
type handshakeAddrPort struct {
	handshakePackets
	fast ice.AddrPortReaderWriter
}

func (c handshakeAddrPort) ReadFromAddrPort(p []byte) (int, netip.AddrPort, error) {
	for {
		n, from, err := c.fast.ReadFromAddrPort(p)
		if err == nil && c.queued != nil {
			c.queued.taken(from)
		}
		if err != nil || c.handshake.takes(p[:n]) {
			return n, from, err
		}
	}
}

func (c handshakeAddrPort) WriteToAddrPort(p []byte, to netip.AddrPort) (int, error) {
	if c.queued != nil && !c.queued.answers(to, c.handshake, p) {
		return len(p), nil
	}
	return c.fast.WriteToAddrPort(p, to)
}
