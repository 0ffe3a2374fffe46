//go:build linux

package realtest

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	pion "github.com/pion/webrtc/v4"
)

// Pictures of H.264 in which stands when they were published: 720p at 2 Mb/s, say, 30 a
// second and a key frame every two seconds.
const (
	stampedStep  = time.Second / 30
	stampedGroup = 60
	stampedSize  = 7000
	stampedKey   = 40000
)

// A stampedSender publishes pictures, over whatever.
type stampedSender interface {
	picture(at time.Duration, key bool, nal []byte) error
}

// stampedConfig is the configuration of the clip's pictures.
func stampedConfig() []byte {
	for _, g := range clip() {
		if g.Type == tagVideo && g.config() {
			return g.Data[5:]
		}
	}
	panic("the clip has no configuration")
}

// stamp publishes until the test ends.
func stamp(t testing.TB, to stampedSender) {
	halt := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		began := time.Now()
		tick := time.NewTicker(stampedStep)
		defer tick.Stop()
		for n := 0; ; n++ {
			nal := make([]byte, stampedSize)
			nal[0] = 0x41
			if n%stampedGroup == 0 {
				nal = make([]byte, stampedKey)
				nal[0] = 0x65
			}
			for i := range nal[9:] {
				nal[9+i] = byte(n+i) | 1
			}
			binary.BigEndian.PutUint64(nal[1:], uint64(time.Now().UnixNano()))
			if err := to.picture(time.Since(began), nal[0] == 0x65, nal); err != nil {
				select {
				case <-halt:
				default:
					t.Errorf("the publisher: %v", err)
				}
				return
			}
			select {
			case <-tick.C:
			case <-halt:
				return
			}
		}
	})
	t.Cleanup(func() {
		close(halt)
		running.Wait()
	})
}

// stampedTags publishes FLV's tags, by RTMP or HTTP.
type stampedTags struct {
	to    sender
	began bool
}

func (s *stampedTags) picture(at time.Duration, key bool, nal []byte) error {
	if !s.began {
		s.began = true
		if err := s.to.send(tag{Type: tagVideo, Data: append([]byte{0x17, 0, 0, 0, 0}, stampedConfig()...)}); err != nil {
			return err
		}
	}
	body := []byte{0x27, 1, 0, 0, 0}
	if key {
		body[0] = 0x17
	}
	body = append(binary.BigEndian.AppendUint32(body, uint32(len(nal))), nal...)
	return s.to.send(tag{Type: tagVideo, Time: uint32(at.Milliseconds()), Data: body})
}

// stampedRTSP publishes by RTSP over its connection.
type stampedRTSP struct{ *rtspPublisher }

func (s stampedRTSP) picture(at time.Duration, key bool, nal []byte) error {
	data := append(binary.BigEndian.AppendUint32(nil, uint32(len(nal))), nal...)
	return s.send(true, &mediaUnit{decoded: at, shown: at, key: key, data: data})
}

// stampedByRTMP publishes live/s by RTMP.
func stampedByRTMP(t testing.TB, s *server) {
	t.Helper()
	c, err := publishRTMP(dial(t, s.RTMP, false), "live", "s")
	if err != nil {
		t.Fatal(err)
	}
	stamp(t, &stampedTags{to: c})
	s.awaitLive(t, "live/s")
}

// stampedByRTSP publishes live/s by RTSP.
func stampedByRTSP(t testing.TB, s *server) {
	t.Helper()
	p, err := publishRTSP(t, openRTSP(t, s.RTSP, "rtsp://"+s.RTSP+"/live/s"), false, &mediaSource{video: &mediaTrack{codec: "h264", rate: 90000, config: stampedConfig()}})
	if err != nil {
		t.Fatal(err)
	}
	stamp(t, stampedRTSP{p})
	s.awaitLive(t, "live/s")
}

// arrivals collects how long pictures took, up to their last packet.
type arrivals struct {
	mu   sync.Mutex
	at   time.Time // when the picture that comes was published
	took []time.Duration
}

// payload takes a payload of RTP.
func (a *arrivals) payload(p []byte, marker bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	const fragment, begins = 28, 0x80
	if len(p) >= 10 && p[0]&0x1f == fragment && p[1]&begins != 0 {
		a.at = time.Unix(0, int64(binary.BigEndian.Uint64(p[2:])))
	}
	if marker && !a.at.IsZero() {
		a.took = append(a.took, time.Since(a.at))
		a.at = time.Time{}
	}
}

// taken empties the list and returns it.
func (a *arrivals) taken() []time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	took := a.took
	a.took = nil
	return took
}

// beginRTSP plays live/s over the connection of RTSP. frames are left to read.
func beginRTSP(t testing.TB, s *server) *rtspSession {
	t.Helper()
	x := openRTSP(t, s.RTSP, "rtsp://"+s.RTSP+"/live/s")
	x.conn.SetDeadline(time.Now().Add(lengthened(10 * time.Minute)))
	for _, f := range []func() error{
		func() error { _, _, err := x.do("DESCRIBE", x.url, ""); return err },
		func() error { return x.setup(t, x.url, 0, false, "") },
		func() error { _, _, err := x.do("PLAY", x.url, ""); return err },
	} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// beginWHEP plays live/s by WHEP, and gives what comes to take: payloads of RTP, borrowed.
func beginWHEP(t testing.TB, s *server, take func(p []byte, marker bool)) {
	t.Helper()
	m := &pion.MediaEngine{}
	if err := m.RegisterDefaultCodecs(); err != nil {
		t.Fatal(err)
	}
	pc, err := newRTC(t, m, pion.NetworkTypeUDP4)
	if err != nil {
		t.Fatal(err)
	}
	pc.OnTrack(func(track *pion.TrackRemote, _ *pion.RTPReceiver) {
		const header = 12
		buf := make([]byte, 1500)
		for {
			n, _, err := track.Read(buf)
			if err != nil {
				return
			}
			if n > header && buf[0]&0x1f == 0 { // no extension
				take(buf[header:n], buf[1]&0x80 != 0)
			}
		}
	})
	if _, err := pc.AddTransceiverFromKind(pion.RTPCodecTypeVideo, pion.RTPTransceiverInit{Direction: pion.RTPTransceiverDirectionRecvonly}); err != nil {
		t.Fatal(err)
	}
	if err := offerRTC(pc, "http://"+s.HTTP+"/live/s/whep"); err != nil {
		t.Fatal(fmt.Errorf("WHEP: %w", err))
	}
}
