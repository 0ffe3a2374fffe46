package webrtc

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	pion "github.com/pion/webrtc/v4"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpfeed"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/udpline"
)

// output is a viewer as a connection for the live.Writer: it takes the packets of a
// feed and sends each to the viewer's tracks.
type output struct {
	peer   *peer
	tracks [2]*track // by channel: pictures, sound; nil: not sent
	cutter rtpfeed.Cutter
	line   *udpline.Line
}

const (
	headerLen = 12 // of RTP (RFC 3550, section 5.1), without extensions, as packets are made
	// cipherLen is what belongs to the encryption of a packet.
	cipherLen = 10
)

// lineOptions are 6 MB/s at the most, which a home's line carries; some packets may be lost, for
// viewers ask for them again.
var lineOptions = udpline.Options{Bears: 0.05, Burst: 24 << 10, Pause: 4 * time.Millisecond}

// channels of the tracks in a feed.
const (
	videoChannel = 0
	audioChannel = 2
)

// Write takes interleaved frames and parts of them, borrowed until it returns. A packet
// that cannot be sent is lost, as on the way.
func (o *output) Write(p []byte) (int, error) {
	over := false
	o.cutter.Cut(p, func(channel byte, packet []byte) bool {
		over = o.peer.isOver()
		if t := o.tracks[int(channel/2)%2]; !over && t != nil {
			if channel%2 == 0 {
				t.send(packet)
			} else {
				o.report(t, packet)
			}
			o.line.Pace(len(packet)+cipherLen, o.peer.done)
		}
		return !over
	})
	if over {
		return 0, o.peer.reason // the viewer may end by this before finish is called
	}
	return len(p), nil
}

// report sends a sender report, with the viewer's name of the track.
func (o *output) report(t *track, packet []byte) {
	list, err := rtcp.Unmarshal(packet)
	if err != nil {
		return
	}
	for _, one := range list {
		if r, ok := one.(*rtcp.SenderReport); ok {
			r.SSRC = uint32(t.ssrc)
			// One that is lost is followed by others.
			_ = o.peer.pc.WriteRTCP([]rtcp.Packet{r})
		}
	}
}

// Close ends the session.
func (o *output) Close() error {
	o.peer.end(net.ErrClosed)
	return nil
}

// Read waits for the end: what the viewer sends comes another way.
func (o *output) Read([]byte) (int, error) {
	<-o.peer.done
	return 0, net.ErrClosed
}

func (o *output) LocalAddr() net.Addr              { return noAddr{} }
func (o *output) RemoteAddr() net.Addr             { return noAddr{} }
func (o *output) SetDeadline(time.Time) error      { return nil }
func (o *output) SetReadDeadline(time.Time) error  { return nil }
func (o *output) SetWriteDeadline(time.Time) error { return nil }

// track is one track that a viewer is sent. It implements the library's TrackLocal.
type track struct {
	chosen offered
	kept   *rtpfeed.Kept // nil: nothing is sent again
	stream string
	line   *udpline.Line

	reception udpline.Reception

	ssrc, again pion.SSRC // of the track, and of what is sent again
	writer      pion.TrackLocalWriter

	mu      sync.Mutex
	numbers numbers
	repairs uint16 // number of the next packet that is sent again
	budget  int    // packets that may be sent again
	filled  time.Time
	buf     []byte
}

// repairRate is how many packets a second a viewer may have again, and how many at once.
const repairRate = 1000

// Bind is called by the library when the track has its numbers.
func (t *track) Bind(c pion.TrackLocalContext) (pion.RTPCodecParameters, error) {
	t.ssrc, t.again, t.writer = c.SSRC(), c.SSRCRetransmission(), c.WriteStream()
	for _, codec := range c.CodecParameters() {
		if codec.PayloadType == pion.PayloadType(t.chosen.PayloadType) {
			return codec, nil
		}
	}
	return pion.RTPCodecParameters{}, pion.ErrUnsupportedCodec
}

func (t *track) Unbind(pion.TrackLocalContext) error { return nil }
func (t *track) RID() string                         { return "" }
func (t *track) StreamID() string                    { return t.stream }

func (t *track) ID() string { return t.Kind().String() }

func (t *track) Kind() pion.RTPCodecType {
	if t.chosen.Video {
		return pion.RTPCodecTypeVideo
	}
	return pion.RTPCodecTypeAudio
}

// send sends a packet, borrowed until it returns. The encryption reads the payload from
// where it lies for all viewers.
func (t *track) send(packet []byte) {
	if len(packet) < headerLen || t.writer == nil {
		return
	}
	t.mu.Lock()
	number, at, ok := t.numbers.place(binary.BigEndian.Uint16(packet[2:]), binary.BigEndian.Uint32(packet[4:]))
	t.mu.Unlock()
	if !ok {
		return
	}
	t.reception.Send()
	h := rtp.Header{Version: 2, Marker: packet[1]&0x80 != 0, PayloadType: t.chosen.PayloadType, SequenceNumber: number, Timestamp: at, SSRC: uint32(t.ssrc)}
	_, _ = t.writer.WriteRTP(&h, packet[headerLen:])
}

// repair sends packets again that the viewer has not got, until it has had too many.
func (t *track) repair(missing []rtcp.NackPair, now time.Time) {
	more := true
	for i := 0; more && i < len(missing); i++ {
		missing[i].Range(func(number uint16) bool {
			more = t.sendAgain(number, now)
			return more
		})
	}
}

// sendAgain sends a packet again (RFC 4588), if it is still there. It returns false when
// the viewer has had too many.
func (t *track) sendAgain(number uint16, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept == nil || t.writer == nil {
		return false
	}
	if gone := now.Sub(t.filled); gone > 0 {
		t.budget = min(repairRate, t.budget+int(min(gone.Seconds(), 1)*repairRate))
		t.filled = now
	}
	if t.budget <= 0 {
		return false
	}
	sent, ok := t.numbers.again(number)
	if !ok {
		return true
	}
	const room = 2 // for the number before the payload
	t.buf, ok = t.kept.Append(append(t.buf[:0], 0, 0), sent.made)
	if !ok || len(t.buf) < room+headerLen {
		return true
	}
	if !t.line.Repair(len(t.buf)+cipherLen, now) {
		return false
	}
	t.budget--
	t.numbers.repeated(number)
	packet := t.buf[room:]
	h := rtp.Header{Version: 2, Marker: packet[1]&0x80 != 0, PayloadType: t.chosen.PayloadType, SequenceNumber: number, Timestamp: sent.at, SSRC: uint32(t.ssrc)}
	payload := packet[headerLen:]
	if t.chosen.rtx >= 0 && t.again != 0 {
		h.PayloadType, h.SSRC, h.SequenceNumber = uint8(t.chosen.rtx), uint32(t.again), t.repairs
		t.repairs++
		payload = t.buf[headerLen:]
		binary.BigEndian.PutUint16(payload, number)
	}
	_, _ = t.writer.WriteRTP(&h, payload)
	return true
}

// hear takes the viewer's reports until the session is over. lost is called when it
// cannot go on without a key frame.
func (t *track) hear(s *pion.RTPSender, lost func()) {
	buf := make([]byte, readSize)
	for {
		n, _, err := s.Read(buf)
		if err != nil {
			if errors.Is(err, io.ErrShortBuffer) {
				continue
			}
			return
		}
		list, err := rtcp.Unmarshal(buf[:n])
		if err != nil {
			continue
		}
		now := time.Now()
		for _, one := range list {
			switch r := one.(type) {
			case *rtcp.TransportLayerNack:
				t.repair(r.Nacks, now)
			case *rtcp.PictureLossIndication, *rtcp.FullIntraRequest:
				lost()
			case *rtcp.ReceiverReport:
				t.hearLosses(r.Reports, now)
			case *rtcp.SenderReport: // of who sends too
				t.hearLosses(r.Reports, now)
			}
		}
	}
}

// hearLosses takes reports, of which only those on pictures count for the line: sound is a small part.
func (t *track) hearLosses(list []rtcp.ReceptionReport, now time.Time) {
	for i := range list {
		r := &list[i]
		if r.SSRC != uint32(t.ssrc) {
			continue
		}
		report := udpline.Report{Highest: r.LastSequenceNumber, Lost: r.FractionLost, Total: udpline.Total(r.TotalLost), Jitter: r.Jitter}
		t.reception.Hear(report)
		if t.chosen.Video {
			t.line.Hear(report, now)
		}
	}
}

// received is session.Viewing.Received.
func (o *output) received() (lost int64, jitter time.Duration, ok bool) {
	var tracks []*udpline.Reception
	for _, t := range o.tracks {
		if t != nil {
			tracks = append(tracks, &t.reception)
		}
	}
	return udpline.Received(tracks...)
}
