//go:build linux

package realtest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/rtcp"
	pion "github.com/pion/webrtc/v4"
)

// rtcNames are the codecs that browsers have.
var rtcNames = map[string]string{
	"h264": pion.MimeTypeH264, "hevc": pion.MimeTypeH265, "av1": pion.MimeTypeAV1, "vp9": pion.MimeTypeVP9,
	"opus": pion.MimeTypeOpus, "pcm_alaw": pion.MimeTypePCMA, "pcm_mulaw": pion.MimeTypePCMU,
}

// newRTC makes a client of WebRTC on the loopback.
func newRTC(t testing.TB, m *pion.MediaEngine, over pion.NetworkType) (*pion.PeerConnection, error) {
	chain := &interceptor.Registry{}
	if err := pion.ConfigureNack(m, chain); err != nil {
		return nil, err
	}
	var e pion.SettingEngine
	e.SetIncludeLoopbackCandidate(true)
	e.SetIPFilter(func(ip net.IP) bool { return ip.IsLoopback() })
	e.SetNetworkTypes([]pion.NetworkType{over})
	pc, err := pion.NewAPI(pion.WithMediaEngine(m), pion.WithInterceptorRegistry(chain), pion.WithSettingEngine(e)).NewPeerConnection(pion.Configuration{})
	if err == nil {
		t.Cleanup(func() { pc.Close() })
	}
	return pc, err
}

// offerRTC sends the offer to an address and takes the answer.
func offerRTC(pc *pion.PeerConnection, address string) error {
	offer, err := pc.CreateOffer(nil)
	if err != nil {
		return err
	}
	gathered := pion.GatheringCompletePromise(pc)
	if err := pc.SetLocalDescription(offer); err != nil {
		return err
	}
	<-gathered
	resp, err := http.Post(address, "application/sdp", strings.NewReader(pc.LocalDescription().SDP))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusCreated {
		return fmt.Errorf("%s: %s: %s %w", address, resp.Status, text, err)
	}
	return pc.SetRemoteDescription(pion.SessionDescription{Type: pion.SDPTypeAnswer, SDP: string(text)})
}

// playWHEP begins to play. The function waits for the end and returns what came.
func playWHEP(t testing.TB, address string, s *mediaSource) (count func() int, end func() (video, audio []played, err error), err error) {
	m := &pion.MediaEngine{}
	if err := m.RegisterDefaultCodecs(); err != nil {
		return nil, nil, err
	}
	pc, err := newRTC(t, m, pion.NetworkTypeUDP4)
	if err != nil {
		return nil, nil, err
	}
	lists := map[bool]*rtpReceived{true: {}, false: {}}
	if s.video != nil {
		lists[true] = &rtpReceived{codec: s.video.codec, clock: s.video.rtpClock()}
	}
	if s.audio != nil {
		lists[false] = &rtpReceived{codec: s.audio.codec, clock: s.audio.rtpClock()}
	}
	var failure error
	var reading sync.WaitGroup
	var mu sync.Mutex
	over := make(chan struct{})
	once := sync.OnceFunc(func() { close(over) })
	pc.OnConnectionStateChange(func(state pion.PeerConnectionState) {
		if state == pion.PeerConnectionStateClosed || state == pion.PeerConnectionStateFailed || state == pion.PeerConnectionStateDisconnected {
			once()
		}
	})
	pc.OnTrack(func(track *pion.TrackRemote, receiver *pion.RTPReceiver) {
		r := lists[track.Kind() == pion.RTPCodecTypeVideo]
		if got := track.Codec().MimeType; !strings.EqualFold(got, rtcNames[r.codec]) {
			mu.Lock()
			failure = fmt.Errorf("%s comes as %s", r.codec, got)
			mu.Unlock()
		}
		reading.Add(1)
		defer reading.Done()
		go func() {
			buf := make([]byte, 1500)
			for {
				n, _, err := receiver.Read(buf)
				if err != nil {
					return
				}
				r.rtcp(buf[:n])
			}
		}()
		for {
			p, _, err := track.ReadRTP()
			if err != nil {
				return
			}
			r.packet(p)
		}
	})
	for _, kind := range []pion.RTPCodecType{pion.RTPCodecTypeVideo, pion.RTPCodecTypeAudio} {
		if _, err := pc.AddTransceiverFromKind(kind, pion.RTPTransceiverInit{Direction: pion.RTPTransceiverDirectionRecvonly}); err != nil {
			return nil, nil, err
		}
	}
	if err := offerRTC(pc, address); err != nil {
		return nil, nil, err
	}
	count = func() int { return lists[true].count() + lists[false].count() }
	return count, func() (video, audio []played, err error) {
		<-over
		pc.Close()
		reading.Wait()
		mu.Lock()
		err = failure
		mu.Unlock()
		if err == nil {
			video, err = lists[true].played()
		}
		if err == nil {
			audio, err = lists[false].played()
		}
		return video, audio, err
	}, nil
}

// A whipPublisher publishes the tracks of a source.
type whipPublisher struct {
	pc      *pion.PeerConnection
	senders map[bool]*rtpSender
	tracks  map[bool]*pion.TrackLocalStaticRTP
	ssrc    map[bool]uint32

	reported time.Duration // of the source's time
}

func publishWHIP(t testing.TB, address string, s *mediaSource) (*whipPublisher, error) {
	m := &pion.MediaEngine{}
	p := &whipPublisher{senders: map[bool]*rtpSender{}, tracks: map[bool]*pion.TrackLocalStaticRTP{}, ssrc: map[bool]uint32{}}
	type one struct {
		video bool
		m     *mediaTrack
		c     pion.RTPCodecCapability
	}
	var all []one
	for _, video := range []bool{true, false} {
		track, kind := s.audio, pion.RTPCodecTypeAudio
		if video {
			track, kind = s.video, pion.RTPCodecTypeVideo
		}
		if track == nil {
			continue
		}
		c := pion.RTPCodecCapability{MimeType: rtcNames[track.codec], ClockRate: uint32(track.rtpClock())}
		switch track.codec {
		case "h264":
			c.SDPFmtpLine = "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"
		case "vp9":
			c.SDPFmtpLine = "profile-id=0"
		case "opus":
			c.Channels, c.SDPFmtpLine = 2, "minptime=10;useinbandfec=1;stereo=1;sprop-stereo=1"
		}
		if video {
			c.RTCPFeedback = []pion.RTCPFeedback{{Type: "nack"}, {Type: "nack", Parameter: "pli"}}
		}
		if err := m.RegisterCodec(pion.RTPCodecParameters{RTPCodecCapability: c, PayloadType: pion.PayloadType(track.rtpType(video))}, kind); err != nil {
			return nil, err
		}
		all = append(all, one{video, track, c})
	}
	var err error
	if p.pc, err = newRTC(t, m, pion.NetworkTypeUDP4); err != nil {
		return nil, err
	}
	connected := make(chan struct{})
	once := sync.OnceFunc(func() { close(connected) })
	p.pc.OnConnectionStateChange(func(state pion.PeerConnectionState) {
		if state == pion.PeerConnectionStateConnected || state == pion.PeerConnectionStateFailed {
			once()
		}
	})
	var senders []*pion.RTPSender
	for _, x := range all {
		track, err := pion.NewTrackLocalStaticRTP(x.c, "track", "stream")
		if err != nil {
			return nil, err
		}
		transceiver, err := p.pc.AddTransceiverFromTrack(track, pion.RTPTransceiverInit{Direction: pion.RTPTransceiverDirectionSendonly})
		if err != nil {
			return nil, err
		}
		sender := transceiver.Sender()
		go func() { // the library answers what it reads here
			buf := make([]byte, 1500)
			for {
				if _, _, err := sender.Read(buf); err != nil {
					return
				}
			}
		}()
		p.tracks[x.video], p.senders[x.video] = track, newRTPSender(x.m, x.video, 7)
		senders = append(senders, sender)
	}
	if err := offerRTC(p.pc, address); err != nil {
		return nil, err
	}
	late := time.NewTimer(lengthened(20 * time.Second))
	defer late.Stop()
	select {
	case <-connected:
	case <-late.C:
		return nil, fmt.Errorf("the connection is %v", p.pc.ConnectionState())
	}
	for i, x := range all {
		p.ssrc[x.video] = uint32(senders[i].GetParameters().Encodings[0].SSRC)
	}
	return p, nil
}

// reports sends the reports that say how the clocks of the tracks belong together.
func (p *whipPublisher) reports(at time.Duration) error {
	p.reported = at
	for video, sender := range p.senders {
		report := sender.report(at)
		report.SSRC = p.ssrc[video]
		if err := p.pc.WriteRTCP([]rtcp.Packet{report}); err != nil {
			return err
		}
	}
	return nil
}

func (p *whipPublisher) send(video bool, u *mediaUnit) error {
	// The first may come before the other side reads them.
	if u.decoded >= p.reported+100*time.Millisecond {
		if err := p.reports(u.decoded); err != nil {
			return err
		}
	}
	for _, packet := range p.senders[video].packets(u) {
		packet.Payload = slices.Clone(packet.Payload)
		if err := p.tracks[video].WriteRTP(packet); err != nil {
			return err
		}
	}
	return nil
}

func (p *whipPublisher) end() error { return p.pc.Close() }
