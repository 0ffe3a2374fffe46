//go:build linux

package realtest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/rtp"
	pion "github.com/pion/webrtc/v4"
)

// Publishers of WebRTC over TCP send more than a server in a small container can take: they have
// to wait, and the kernel does not kill it for what the library keeps.
func TestACrowdOfFastWHIPPublishersInASmallControlGroup(t *testing.T) {
	long(t, "80 publishers send for 20 s")
	if !measured() {
		t.Skip("the checks take memory of their own")
	}
	const crowd, sending = 80, 20 * time.Second
	group := memoryGroup(t, 128<<20)
	s := serve(t, options{
		flags: strings.Fields("--max-streams 0 --max-streams-per-address 0 --max-handshakes-per-address 200 --publish-timeout 2m --min-publish-rate 0"),
		under: within(group),
	})
	var sent atomic.Int64
	var publishing sync.WaitGroup
	stop, begin := make(chan struct{}), make(chan struct{})
	defer publishing.Wait()
	defer close(stop)
	for i := range crowd {
		p, err := floodWHIP(t, fmt.Sprintf("http://%s/live/w%d/whip", s.HTTP, i), pion.NetworkTypeTCP4)
		if err != nil {
			t.Fatal(err)
		}
		publishing.Go(func() {
			select {
			case <-begin:
				p.run(stop, &sent)
			case <-stop:
			}
			p.pc.Close()
		})
	}
	close(begin)
	end, look := time.NewTimer(sending), time.NewTicker(100*time.Millisecond)
	defer end.Stop()
	defer look.Stop()
	for running := true; running; {
		select {
		case <-end.C:
			running = false
		case <-look.C:
		}
		if s.ended() {
			t.Fatalf("the server has ended: %v, when %d MB were sent", s.err, sent.Load()>>20)
		}
	}
	frames := 0
	for _, info := range s.streams(t) {
		frames += info.FramesIn
	}
	t.Logf("%d MB were sent, %d frames have come", sent.Load()>>20, frames)
	if frames == 0 {
		t.Error("no frame has come")
	}
}

// A whipFlood is a publisher that sends as fast as it can.
type whipFlood struct {
	pc    *pion.PeerConnection
	track *pion.TrackLocalStaticRTP
	ended chan struct{}
}

func floodWHIP(t testing.TB, address string, over pion.NetworkType) (*whipFlood, error) {
	c := pion.RTPCodecCapability{MimeType: pion.MimeTypeH264, ClockRate: 90000, SDPFmtpLine: "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"}
	m := &pion.MediaEngine{}
	if err := m.RegisterCodec(pion.RTPCodecParameters{RTPCodecCapability: c, PayloadType: 96}, pion.RTPCodecTypeVideo); err != nil {
		return nil, err
	}
	p := &whipFlood{ended: make(chan struct{})}
	var err error
	if p.pc, err = newRTC(t, m, over); err != nil {
		return nil, err
	}
	connected := make(chan struct{})
	once, end := sync.OnceFunc(func() { close(connected) }), sync.OnceFunc(func() { close(p.ended) })
	p.pc.OnConnectionStateChange(func(state pion.PeerConnectionState) {
		switch state {
		case pion.PeerConnectionStateConnected:
			once()
		case pion.PeerConnectionStateFailed, pion.PeerConnectionStateClosed:
			end()
		}
	})
	if p.track, err = pion.NewTrackLocalStaticRTP(c, "track", "stream"); err != nil {
		return nil, err
	}
	if _, err := p.pc.AddTransceiverFromTrack(p.track, pion.RTPTransceiverInit{Direction: pion.RTPTransceiverDirectionSendonly}); err != nil {
		return nil, err
	}
	if err := offerRTC(p.pc, address); err != nil {
		p.pc.Close()
		return nil, err
	}
	late := time.NewTimer(lengthened(20 * time.Second))
	defer late.Stop()
	select {
	case <-connected:
	case <-p.ended:
		return nil, fmt.Errorf("the connection has ended")
	case <-late.C:
		return nil, fmt.Errorf("the connection is %v", p.pc.ConnectionState())
	}
	return p, nil
}

// run sends pictures of 40 KB, each 20th a key frame, until stop or the end.
func (p *whipFlood) run(stop <-chan struct{}, sent *atomic.Int64) {
	const size, packets = 1100, 36
	number := uint16(0)
	for picture := uint32(0); ; picture++ {
		put := func(payload []byte, last bool) bool {
			number++
			err := p.track.WriteRTP(&rtp.Packet{Header: rtp.Header{Version: 2, PayloadType: 96, SequenceNumber: number, Timestamp: picture * 3000, Marker: last}, Payload: payload})
			sent.Add(int64(len(payload)))
			return err == nil
		}
		kind := byte(0x41)
		if picture%20 == 0 {
			kind = 0x65
			sps, pps := []byte{0x67, 0x42, 0xc0, 0x1f, 0x8c, 0x8d, 0x40, 0x50, 0x1e, 0x90, 0x0f, 0x08, 0x84, 0x6a}, []byte{0x68, 0xce, 0x3c, 0x80}
			if !put(sps, false) || !put(pps, false) {
				return
			}
		}
		for i := range packets {
			select {
			case <-stop:
				return
			case <-p.ended:
				return
			default:
			}
			fu := append([]byte{0x7c, kind & 0x1f, 0x80}, make([]byte, size)...)
			switch i {
			case 0:
				fu[1] |= 0x80
			case packets - 1:
				fu[1] |= 0x40
			}
			if !put(fu, i == packets-1) {
				return
			}
		}
	}
}
