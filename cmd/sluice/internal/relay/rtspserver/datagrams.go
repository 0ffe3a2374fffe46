package rtspserver

import (
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpfeed"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/udpline"
	"github.com/sluice-go/sluice/rtsp"
)

// datagrams is a viewer over UDP as a connection for the live.Writer: it takes
// interleaved frames, cuts them apart and sends each as a datagram.
type datagrams struct {
	ports *ports
	to    [4]netip.AddrPort // by channel; the zero value is not sent
	peer  netip.Addr
	began time.Time
	last  atomic.Int64 // when a report came, in ns since began

	line     *udpline.Line
	pictures int // their track; -1 without
	tracks   [2]sentTrack

	cutter  rtpfeed.Cutter
	closing sync.Once
	closed  chan struct{}
}

// sentTrack is what a viewer is sent of one track.
type sentTrack struct {
	numbers   numbers
	source    atomic.Uint32 // of its packets; 0 before the first
	reception udpline.Reception
}

// lineOptions are 16 MB/s at the most: the peer's socket, where 200 KiB are usual, must not
// overflow. What is lost is not sent again.
var lineOptions = udpline.Options{Bears: 0.01, Burst: 32 << 10, Pause: 2 * time.Millisecond}

// track says where a track is sent.
func (d *datagrams) track(number int, f *rtpmedia.Format, to *rtsp.Pair) {
	if f.Video {
		d.pictures = number
	}
	d.tracks[number].reception.Begin(f.Clock)
	channel := 2 * number              // for RTP
	d.ports.forget(d.to[channel+1], d) // of an earlier SETUP
	d.to[channel] = netip.AddrPortFrom(d.peer, uint16(to.First))
	d.to[channel+1] = netip.AddrPortFrom(d.peer, uint16(to.Last))
	if to.First == to.Last {
		d.to[channel+1] = netip.AddrPort{}
	}
	// When it is another session's, reports are not heard: requests keep this one alive.
	_ = d.ports.hear(d.to[channel+1], d)
}

// heard is when the peer's latest report came, or when the viewer began.
func (d *datagrams) heard() time.Time { return d.began.Add(time.Duration(d.last.Load())) }

// Write takes whole frames and parts of them, borrowed until it returns. A datagram that
// cannot be sent is lost, as on the way.
func (d *datagrams) Write(p []byte) (int, error) {
	over := false
	d.cutter.Cut(p, func(channel byte, packet []byte) bool {
		select {
		case <-d.closed:
			over = true
			return false
		default:
		}
		d.send(int(channel), packet)
		return true
	})
	if over {
		return 0, net.ErrClosed
	}
	return len(p), nil
}

// send sends one packet, borrowed until it returns.
func (d *datagrams) send(channel int, packet []byte) {
	if channel >= len(d.to) || !d.to[channel].IsValid() {
		return
	}
	if channel%2 == 0 && len(packet) >= headerLen {
		t := &d.tracks[channel/2]
		t.source.Store(binary.BigEndian.Uint32(packet[8:]))
		t.reception.Send()
		packet = t.numbers.renumber(packet)
	}
	d.ports.send(channel%2, packet, d.to[channel])
	d.line.Pace(len(packet), d.closed)
}

// Close ends the viewer's writes.
func (d *datagrams) Close() error {
	d.closing.Do(func() {
		close(d.closed)
		for _, to := range d.to {
			d.ports.forget(to, d)
		}
	})
	return nil
}

// Read waits for Close: what the peer sends comes another way.
func (d *datagrams) Read([]byte) (int, error) {
	<-d.closed
	return 0, os.ErrClosed
}

func (d *datagrams) LocalAddr() net.Addr              { return d.ports.rtp.LocalAddr() }
func (d *datagrams) RemoteAddr() net.Addr             { return net.UDPAddrFromAddrPort(d.to[0]) }
func (d *datagrams) SetDeadline(time.Time) error      { return nil }
func (d *datagrams) SetReadDeadline(time.Time) error  { return nil }
func (d *datagrams) SetWriteDeadline(time.Time) error { return nil }

// hearRTCP takes a viewer's reports, borrowed. It does not block.
func (d *datagrams) hearRTCP(p []byte, now time.Time) {
	d.last.Store(int64(now.Sub(d.began)))
	for source, r := range reports(p) {
		for i := range d.tracks {
			t := &d.tracks[i]
			if source == 0 || source != t.source.Load() {
				continue
			}
			t.reception.Hear(r)
			if i == d.pictures {
				d.line.Hear(r, now)
			}
		}
	}
}

// received is session.Viewing.Received.
func (d *datagrams) received() (lost int64, jitter time.Duration, ok bool) {
	return udpline.Received(&d.tracks[0].reception, &d.tracks[1].reception)
}

// viewer returns a viewer's sending side.
func (p *ports) viewer(peer netip.Addr) *datagrams {
	return &datagrams{ports: p, peer: peer, began: time.Now(), line: udpline.New(lineOptions), pictures: -1, closed: make(chan struct{})}
}
