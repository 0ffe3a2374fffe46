package webrtc

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/transport/v5"
	"github.com/pion/transport/v5/stdnet"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
)

const (
	// socketBuffer is asked of the kernel for the port of UDP: all sessions share it.
	socketBuffer = 4 << 20
	// tcpQueue is how many packets of a client over TCP may wait.
	tcpQueue = 64
	// acceptPause is the time after a connection that could not be accepted.
	acceptPause = 200 * time.Millisecond
)

// openPorts opens the ports. Without a port in address the system chooses.
func openPorts(address string, s *Server) (*ports, error) {
	const tries = 20
	var err error
	for range tries {
		var l net.Listener
		if l, err = net.Listen("tcp", address); err != nil {
			return nil, err
		}
		host, _, wrong := net.SplitHostPort(address)
		if wrong != nil {
			l.Close()
			return nil, wrong
		}
		var udp net.PacketConn
		if udp, err = net.ListenPacket("udp", net.JoinHostPort(host, fmt.Sprint(portOf(l.Addr())))); err == nil {
			return newPorts(l, udp, s), nil
		}
		l.Close()
		if _, port, _ := net.SplitHostPort(address); port != "0" {
			break
		}
	}
	return nil, err
}

func newPorts(l net.Listener, udp net.PacketConn, s *Server) *ports {
	p := &ports{listener: newBounded(l, s), queued: &queued{named: s.peers.named}}
	if c, ok := udp.(*net.UDPConn); ok {
		// Less than asked for is what the system allows.
		_, _ = c.SetReadBuffer(socketBuffer), c.SetWriteBuffer(socketBuffer)
		p.queued.send = c.WriteToUDPAddrPort
		udp = queuedUDP{c, p.queued}
	}
	log := logs{s.Log}.NewLogger("ice")
	p.udp = ice.NewUDPMuxDefault(ice.UDPMuxParams{Logger: log, UDPConn: udp, Net: machine{}, OnUnhandledPacket: func(_ []byte, from netip.AddrPort) {
		p.queued.taken(from)
		p.strangers.Add(1)
	}})
	p.tcp = ice.NewTCPMuxDefault(ice.TCPMuxParams{
		Listener: p.listener, Logger: log, ReadBufferSize: tcpQueue,
		FirstStunBindTimeout: s.Times.Header, AliveDurationForConnFromStun: s.Times.Header,
	})
	return p
}

// machine is the machine's network as the port of UDP asks for it, which is for interfaces alone. The
// library's has those of the moment at which it is made: an address that came later, as those of IPv6 do
// that routers announce, would be in no answer.
type machine struct{ *stdnet.Net }

func (machine) Interfaces() ([]*transport.Interface, error) {
	now, err := stdnet.NewNet()
	if err != nil {
		return nil, err
	}
	return now.Interfaces()
}

func (p *ports) number() int { return portOf(p.listener.Addr()) }

// loopback reports whether only this machine can reach the ports.
func (p *ports) loopback() bool {
	a, err := netip.ParseAddrPort(p.listener.Addr().String())
	return err == nil && a.Addr().Unmap().IsLoopback()
}

func (p *ports) close() {
	_ = p.udp.Close()
	_ = p.tcp.Close()
}

func newBounded(l net.Listener, s *Server) *bounded {
	return &bounded{Listener: s.Reporting(l, "webrtc"), server: s, open: map[netip.Addr]int{}}
}

// Accept returns the next connection that there is room for, and closes others.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) || b.server.Closing() {
				return nil, err
			}
			// A temporary error, for example no free descriptors. The library would
			// accept no more.
			waiting.For(acceptPause, b.server.Ctx.Done())
			continue
		}
		from, err := netip.ParseAddrPort(c.RemoteAddr().String())
		if err != nil {
			c.Close()
			continue
		}
		address := network(from.Addr())
		if access.Scarce() || !b.take(address) {
			c.Close()
			continue
		}
		return &counted{Conn: c, out: (&buffers{all: &b.server.sending}).one(), known: b.server.peers.knows, leave: sync.OnceFunc(func() { b.leave(address) })}, nil
	}
}

func (b *bounded) take(address netip.Addr) bool {
	c, sessions := b.server.Config(), b.server.peers.number()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all >= c.MaxHandshakes+2*sessions || b.open[address] >= c.MaxHandshakesPerAddress+2*sessions {
		return false
	}
	b.all++
	b.open[address]++
	return true
}

func (b *bounded) leave(address netip.Addr) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all--
	if b.open[address]--; b.open[address] == 0 {
		delete(b.open, address)
	}
}

// portOf is the port of an address.
func portOf(a net.Addr) int {
	_, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return 0
	}
	return n
}
