package rtspserver

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/rtsp"
)

// ports are the two UDP sockets of a server, for RTP and for RTCP, which all peers
// share. A datagram belongs to the session whose SETUP has named the address and the
// port that it comes from. Others are counted and dropped.
type ports struct {
	rtp, rtcp *net.UDPConn
	strangers atomic.Int64
	running   sync.WaitGroup

	mu    sync.RWMutex
	hears map[netip.AddrPort]hearer // of both sockets: an address is of one
}

// A hearer takes what comes from one address. It must not block.
type hearer interface {
	// hearRTCP takes a packet, borrowed until it returns.
	hearRTCP(p []byte, now time.Time)
}

// An rtpHearer takes RTP too.
type rtpHearer interface {
	hearRTP(p []byte, now time.Time)
}

// errTaken: another session has said the same address.
var errTaken = errors.New("another session uses this port")

// receiveBuffer is asked of the kernel for a socket: all publishers share it.
const receiveBuffer = 4 << 20

// openPorts opens the sockets, which are a pair: the first even (RFC 3550, section 11).
// Without a port in address the system chooses.
func openPorts(address string) (*ports, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	first, err := strconv.Atoi(port)
	if err != nil || first%2 != 0 {
		return nil, fmt.Errorf("UDP port %s: RTP is on an even one, and RTCP on the next", port)
	}
	const tries = 50
	for range tries {
		var p *ports
		if p, err = openPair(host, first); err == nil || first != 0 {
			return p, err
		}
	}
	return nil, err
}

func openPair(host string, first int) (*ports, error) {
	open := func(port int) (*net.UDPConn, error) {
		c, err := net.ListenPacket("udp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			return nil, err
		}
		return c.(*net.UDPConn), nil
	}
	rtp, err := open(first)
	if err != nil {
		return nil, err
	}
	got := rtp.LocalAddr().(*net.UDPAddr).Port
	if got%2 != 0 {
		rtp.Close()
		return nil, fmt.Errorf("UDP port %d is odd", got)
	}
	rtcp, err := open(got + 1)
	if err != nil {
		rtp.Close()
		return nil, err
	}
	// Less than asked for is what the system allows.
	_ = rtp.SetReadBuffer(receiveBuffer)
	p := &ports{rtp: rtp, rtcp: rtcp, hears: map[netip.AddrPort]hearer{}}
	p.running.Go(func() { p.receive(rtp, true) })
	p.running.Go(func() { p.receive(rtcp, false) })
	return p, nil
}

func (p *ports) close() {
	p.rtp.Close()
	p.rtcp.Close()
	p.running.Wait()
}

// pair returns the ports.
func (p *ports) pair() *rtsp.Pair {
	first := p.rtp.LocalAddr().(*net.UDPAddr).Port
	return &rtsp.Pair{First: first, Last: first + 1}
}

// receive gives what comes to those who wait for it, until the socket is closed.
func (p *ports) receive(c *net.UDPConn, media bool) {
	b := make([]byte, 64<<10)
	for {
		n, from, err := c.ReadFromUDPAddrPort(b)
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // a peer's port is closed: the system says it here
		}
		from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		p.mu.RLock()
		h := p.hears[from]
		p.mu.RUnlock()
		if h == nil {
			p.strangers.Add(1)
			continue
		}
		if !media {
			h.hearRTCP(b[:n], time.Now())
		} else if r, ok := h.(rtpHearer); ok {
			r.hearRTP(b[:n], time.Now())
		}
	}
}

// hear gives what comes from an address to h, and fails when another session has it.
func (p *ports) hear(from netip.AddrPort, h hearer) error {
	if !from.IsValid() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if other := p.hears[from]; other != nil && other != h {
		return errTaken
	}
	p.hears[from] = h
	return nil
}

// forget ends that.
func (p *ports) forget(from netip.AddrPort, h hearer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hears[from] == h {
		delete(p.hears, from)
	}
}

// send sends a datagram: RTP with kind 0, RTCP with 1. One that cannot be sent is lost.
func (p *ports) send(kind int, packet []byte, to netip.AddrPort) {
	c := p.rtp
	if kind == 1 {
		c = p.rtcp
	}
	_, _ = c.WriteToUDPAddrPort(packet, to)
}

// listening returns how many addresses are waited for.
func (p *ports) listening() int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.hears)
}
