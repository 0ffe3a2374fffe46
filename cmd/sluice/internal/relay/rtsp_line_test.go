package relay

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpfeed"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtsp"
)

// An rtspProxy is a way to a server for viewers over UDP: it passes requests on with its own
// ports in them, and datagrams for the viewer by a path.
type rtspProxy struct {
	listener net.Listener
	server   string
	path     srtPath
	work     sync.WaitGroup
	late     chan rtspLate
	lost     atomic.Int64
	all      atomic.Int64

	mu    sync.Mutex
	conns []io.Closer
}

// rtspLate is a datagram on its way.
type rtspLate struct {
	at   time.Time
	from *net.UDPConn
	to   netip.AddrPort
	p    []byte
}

// rtspPair is a pair of ports between a client and a server.
type rtspPair struct {
	conns          [2]*net.UDPConn
	client, server [2]netip.AddrPort
	known          chan struct{} // both
}

func rtspLine(t *testing.T, server string, path srtPath) *rtspProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x := &rtspProxy{listener: l, server: server, path: path, late: make(chan rtspLate, 1<<16)}
	over := make(chan struct{})
	x.keep(l)
	x.work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			x.serve(c)
		}
	})
	x.work.Go(func() {
		for {
			select {
			case d := <-x.late:
				if wait := time.Until(d.at); wait > 0 {
					<-time.After(wait)
				}
				_, _ = d.from.WriteToUDPAddrPort(d.p, d.to)
			case <-over:
				return
			}
		}
	})
	t.Cleanup(func() {
		x.mu.Lock()
		for _, c := range x.conns {
			c.Close()
		}
		x.mu.Unlock()
		close(over)
		x.work.Wait()
	})
	return x
}

func (x *rtspProxy) address() string { return x.listener.Addr().String() }

// keep closes c at the end.
func (x *rtspProxy) keep(c io.Closer) {
	x.mu.Lock()
	x.conns = append(x.conns, c)
	x.mu.Unlock()
}

var rtspPorts = regexp.MustCompile(`(client|server)_port=(\d+)-(\d+)`)

// serve passes the lines of a connection on.
func (x *rtspProxy) serve(client net.Conn) {
	x.keep(client)
	server, err := net.Dial("tcp", x.server)
	if err != nil {
		client.Close()
		return
	}
	x.keep(server)
	setup := make(chan *rtspPair, 16)
	lines := func(from, to net.Conn, change func(side string, first, last uint16) string) {
		x.work.Go(func() {
			defer to.Close()
			r := bufio.NewReader(from)
			for {
				line, err := r.ReadString('\n')
				line = rtspPorts.ReplaceAllStringFunc(line, func(s string) string {
					m := rtspPorts.FindStringSubmatch(s)
					var first, last uint16
					fmt.Sscan(m[2], &first)
					fmt.Sscan(m[3], &last)
					return change(m[1], first, last)
				})
				if _, failed := io.WriteString(to, line); failed != nil || err != nil {
					return
				}
			}
		})
	}
	pairOf := func(peer net.Addr, first, last uint16) [2]netip.AddrPort {
		ip := netip.MustParseAddrPort(peer.String()).Addr()
		return [2]netip.AddrPort{netip.AddrPortFrom(ip, first), netip.AddrPortFrom(ip, last)}
	}
	lines(client, server, func(_ string, first, last uint16) string {
		p := x.pair()
		p.client = pairOf(client.RemoteAddr(), first, last)
		setup <- p
		return p.ports("client")
	})
	var current *rtspPair
	lines(server, client, func(side string, first, last uint16) string {
		if side == "client" {
			current = <-setup
			return fmt.Sprintf("client_port=%d-%d", current.client[0].Port(), current.client[1].Port())
		}
		current.server = pairOf(server.RemoteAddr(), first, last)
		close(current.known)
		return current.ports("server")
	})
}

func (p *rtspPair) ports(side string) string {
	at := p.conns[0].LocalAddr().(*net.UDPAddr).Port
	return fmt.Sprintf("%s_port=%d-%d", side, at, at+1)
}

// pair opens two ports that follow each other.
func (x *rtspProxy) pair() *rtspPair {
	p := &rtspPair{known: make(chan struct{})}
	for {
		first, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			panic(err)
		}
		at := first.LocalAddr().(*net.UDPAddr)
		second, err := net.ListenUDP("udp4", &net.UDPAddr{IP: at.IP, Port: at.Port + 1})
		if err != nil || at.Port%2 != 0 {
			first.Close()
			if err == nil {
				second.Close()
			}
			continue
		}
		p.conns = [2]*net.UDPConn{first, second}
		break
	}
	for i, c := range p.conns {
		x.keep(c)
		_ = c.SetReadBuffer(4 << 20)
		x.work.Go(func() {
			room := make([]byte, 2048)
			for {
				n, from, err := c.ReadFromUDPAddrPort(room)
				if err != nil {
					return
				}
				<-p.known
				if from != p.server[i] {
					_, _ = c.WriteToUDPAddrPort(room[:n], p.server[i])
					continue
				}
				x.all.Add(1)
				at, ok := x.path(n)
				if !ok {
					x.lost.Add(1)
					continue
				}
				select {
				case x.late <- rtspLate{at, c, p.client[i], append([]byte(nil), room[:n]...)}:
				default:
				}
			}
		})
	}
	return p
}

// An rtspViewer plays a stream over UDP and reports on what comes, as players do.
type rtspViewer struct {
	*rtspClient
	every time.Duration

	mu    sync.Mutex
	units map[bool][]string // sums of pictures and frames of sound that have come

	// Of the pictures:
	reports *net.UDPConn
	server  netip.AddrPort // for reports
	ssrc    uint32
	last    uint16 // number of a packet
}

// rtspWatch starts a viewer at an address that reports so often.
func rtspWatch(t *testing.T, s *relayServer, address, stream string, every time.Duration) *rtspViewer {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	r := sluice.NewBufReader(conn)
	v := &rtspViewer{rtspClient: &rtspClient{t: t, s: s.Server, conn: conn, r: rtsp.NewReader(r, rtsp.Limits{})}, every: every, units: map[bool][]string{}}
	var work sync.WaitGroup
	t.Cleanup(func() {
		conn.Close()
		work.Wait()
		r.Recycle()
	})
	st, ok := s.host.Hub.Stream(stream)
	if !ok {
		t.Fatalf("no stream %s", stream)
	}
	tracks, err := rtpfeed.Probe(t.Context(), st, 0, nil, rtpmedia.NewFormat)
	if err != nil {
		t.Fatal(err)
	}
	v.must(200, "DESCRIBE", stream, "")
	for i, f := range tracks.Formats {
		v.open(i, f, stream, &work)
	}
	v.must(200, "PLAY", stream, "")
	return v
}

// open sets a track up, and collects what comes on it.
func (v *rtspViewer) open(i int, f rtpmedia.Format, stream string, work *sync.WaitGroup) {
	v.t.Helper()
	var conns [2]*net.UDPConn
	for i := range conns {
		c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			v.t.Fatal(err)
		}
		_ = c.SetReadBuffer(4 << 20)
		v.t.Cleanup(func() { c.Close() })
		conns[i] = c
	}
	port := func(i int) int { return conns[i].LocalAddr().(*net.UDPAddr).Port }
	if port(0) > port(1) {
		conns[0], conns[1] = conns[1], conns[0]
	}
	h := v.must(200, "SETUP", fmt.Sprintf("%s/trackID=%d", stream, i), "", fmt.Sprintf("Transport: RTP/AVP;unicast;client_port=%d-%d", port(0), port(1)))
	list, err := rtsp.ParseTransport(h.Get("Transport"))
	if err != nil || list[0].ServerPort == nil {
		v.t.Fatalf("%v, %v", list, err)
	}
	server := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(list[0].ServerPort.Last))
	if f.Video {
		v.reports, v.server = conns[1], server
	}
	x := rtpmedia.NewCollector(f, rtcMemory, 8<<20, func(s rtpmedia.Sample) error {
		defer s.Packed.Release()
		v.mu.Lock()
		defer v.mu.Unlock()
		if sum := sumOf(f.Codec, s.Packed.Bytes()[au.Room:]); sum != "" {
			v.units[f.Video] = append(v.units[f.Video], sum)
		}
		return nil
	})
	work.Go(func() {
		defer x.Close()
		room := make([]byte, 2048)
		next := time.Now().Add(v.every)
		for {
			n, err := conns[0].Read(room)
			if err != nil {
				return
			}
			now := time.Now()
			if x.Push(mem.Wrap(append([]byte(nil), room[:n]...), nil), now) != nil {
				return
			}
			if now.After(next) {
				next = now.Add(v.every)
				_, _ = conns[1].WriteToUDPAddrPort(x.Report(now), server)
			}
			v.mu.Lock()
			if f.Video {
				v.ssrc, v.last = binary.BigEndian.Uint32(room[8:]), binary.BigEndian.Uint16(room[2:])
			}
			v.mu.Unlock()
		}
	})
}
