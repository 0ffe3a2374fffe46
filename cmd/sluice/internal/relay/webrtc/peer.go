package webrtc

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/nack"
	"github.com/pion/interceptor/pkg/report"
	"github.com/pion/interceptor/pkg/twcc"
	"github.com/pion/sdp/v3"
	pion "github.com/pion/webrtc/v4"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// Reasons why a session ended.
var (
	// ErrHandshake: no media connection came about in time.
	ErrHandshake = errors.New("the media connection was not made in time; is the port of the setting webrtc open, and the address of webrtc-address right?")
	// ErrLost: nothing comes from the client any more.
	ErrLost = fmt.Errorf("%w: no media connection any more", session.ErrPeerGone)
)

// newPeer makes a session with the formats that were chosen. The caller sets connected
// and ended, and then calls answer. An error matches session.ErrFull or ErrOffer, or is this
// machine's.
func (s *Server) newPeer(info session.Info, o *offer, chosen []offered, publishes bool) (*peer, error) {
	place, err := s.pending.enter(info.IP(), s.Config())
	if err != nil {
		return nil, err
	}
	p := &peer{
		server: s, id: rand.Text(), etag: `"` + rand.Text() + `"`, info: info, token: sha256.Sum256([]byte(info.Query.Get("token"))),
		place: sync.OnceFunc(place), done: make(chan struct{}),
		silence: time.NewTimer(time.Hour),
	}
	p.waits = newHandshake(func() bool { return s.RoomToWatch() != nil })
	if p.pc, err = s.connection(o, chosen, publishes, &buffers{media: publishes, end: p.end, left: p.waits.leave, all: &s.waiting}, p.waits); err != nil {
		place()
		return nil, err
	}
	return p, nil
}

// connection makes a connection that knows the chosen formats and no other. What comes waits
// in received, and before that as h has it.
func (s *Server) connection(o *offer, chosen []offered, publishes bool, received *buffers, h *handshake) (*pion.PeerConnection, error) {
	media, chain := &pion.MediaEngine{}, &interceptor.Registry{}
	for _, f := range chosen {
		kind := pion.RTPCodecTypeAudio
		var feedback []pion.RTCPFeedback
		if f.Video {
			kind = pion.RTPCodecTypeVideo
			feedback = []pion.RTCPFeedback{{Type: "nack"}, {Type: "nack", Parameter: "pli"}, {Type: "ccm", Parameter: "fir"}}
		}
		if publishes {
			feedback = append(feedback, pion.RTCPFeedback{Type: pion.TypeRTCPFBTransportCC})
			if err := media.RegisterHeaderExtension(pion.RTPHeaderExtensionCapability{URI: sdp.TransportCCURI}, kind); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrOffer, err)
			}
		}
		channels := uint16(0)
		if mimeTypes[f.Codec] == pion.MimeTypeOpus {
			channels = 2 // RFC 7587, section 7
		}
		err := media.RegisterCodec(pion.RTPCodecParameters{
			RTPCodecCapability: pion.RTPCodecCapability{MimeType: mimeTypes[f.Codec], ClockRate: uint32(f.Clock), Channels: channels, SDPFmtpLine: f.params, RTCPFeedback: feedback},
			PayloadType:        pion.PayloadType(f.PayloadType),
		}, kind)
		if err == nil && f.rtx >= 0 {
			err = media.RegisterCodec(pion.RTPCodecParameters{
				RTPCodecCapability: pion.RTPCodecCapability{MimeType: pion.MimeTypeRTX, ClockRate: uint32(f.Clock), SDPFmtpLine: fmt.Sprintf("apt=%d", f.PayloadType)},
				PayloadType:        pion.PayloadType(f.rtx),
			}, kind)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOffer, err)
		}
	}
	if publishes {
		if err := intercept(chain); err != nil {
			return nil, err
		}
	}
	settings := s.settings
	if o.waits {
		if err := settings.SetAnsweringDTLSRole(pion.DTLSRoleClient); err != nil {
			return nil, err
		}
	}
	settings.SetRemoteIPFilter(limitAddresses())
	settings.BufferFactory = received.buffer
	settings.SetICEUDPMux(handshakeUDP{s.ports.udp, h, s.ports.queued, s.ports.loopback()})
	settings.SetICETCPMux(handshakeTCP{s.ports.tcp, h})
	api := pion.NewAPI(pion.WithMediaEngine(media), pion.WithInterceptorRegistry(chain), pion.WithSettingEngine(settings))
	return api.NewPeerConnection(pion.Configuration{Certificates: s.certificates})
}

// maxAddresses is from how many addresses and ports a client's checks are answered: a
// browser has some in each network that it comes to. The library remembers each for as long
// as the session lives, and compares new ones with all.
const maxAddresses = 256

// limitAddresses returns a filter of one session's new addresses.
func limitAddresses() func(net.IP) (keep bool) {
	var n atomic.Int32
	return func(net.IP) bool { return n.Load() < maxAddresses && n.Add(1) <= maxAddresses }
}

// intercept adds what is said to a publisher: which packets are missing, how all arrive,
// and reports.
func intercept(chain *interceptor.Registry) error {
	missing, err := nack.NewGeneratorInterceptor(nack.GeneratorSize(2048), nack.GeneratorInterval(missingEvery), nack.GeneratorMaxNacksPerPacket(8))
	if err != nil {
		return err
	}
	reports, err := report.NewReceiverInterceptor()
	if err != nil {
		return err
	}
	arrival, err := twcc.NewSenderInterceptor()
	if err != nil {
		return err
	}
	chain.Add(missing)
	chain.Add(reports)
	chain.Add(arrival)
	return nil
}

// missingEvery is the time between two lists of missing packets.
const missingEvery = 40 * time.Millisecond

// answer takes the offer and returns the answer; prepare is called between the two. On
// an error, which matches ErrOffer, the session has ended.
func (p *peer) answer(o *offer, prepare func() error) (string, error) {
	s := p.server
	// A time in which this process stands still is not the client's.
	p.deadline = listen.Late(p, s.Times.Header, func() { go p.late() })
	if !s.Group.Begin(p) {
		p.deadline()
		p.pc.Close()
		p.place()
		p.ended(session.ErrClosing, false)
		return "", session.ErrClosing
	}
	s.peers.add(p)
	p.pc.OnConnectionStateChange(func(state pion.PeerConnectionState) {
		switch state {
		case pion.PeerConnectionStateConnected:
			p.connect()
		case pion.PeerConnectionStateFailed, pion.PeerConnectionStateClosed:
			p.end(ErrLost)
		}
	})
	text, err := p.negotiate(o, prepare)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrOffer, err)
		p.end(err)
		return "", err
	}
	return text, nil
}

func (p *peer) negotiate(o *offer, prepare func() error) (string, error) {
	if err := p.pc.SetRemoteDescription(pion.SessionDescription{Type: pion.SDPTypeOffer, SDP: o.text}); err != nil {
		return "", err
	}
	if err := prepare(); err != nil {
		return "", err
	}
	answer, err := p.pc.CreateAnswer(nil)
	if err != nil {
		return "", err
	}
	gathered := pion.GatheringCompletePromise(p.pc)
	if err := p.pc.SetLocalDescription(answer); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(p.server.Ctx, p.server.Times.Header)
	defer cancel()
	select {
	case <-gathered:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	text := p.pc.LocalDescription().SDP
	p.server.peers.name(p, text, o.text)
	if o.alone {
		text = withoutGroup(text)
	}
	return o.rejecting(o.stereo(o.layered(o.named(addressed(text, p.server.candidates))))), nil
}

// connect is called when the media connection has been made.
func (p *peer) connect() {
	p.mu.Lock()
	if p.begun || p.over {
		p.mu.Unlock()
		return
	}
	p.begun = true
	p.starting.Add(1)
	p.mu.Unlock()
	p.deadline()
	p.place()
	go func() {
		if p.waits.silence(p.done) {
			p.end(ErrLost)
		}
	}()
	p.connected()
	p.starting.Done()
}

// end ends the session for a reason. It does not block; a second call does nothing.
func (p *peer) end(reason error) {
	p.mu.Lock()
	if p.over {
		p.mu.Unlock()
		return
	}
	p.over, p.reason = true, reason
	begun := p.begun
	p.mu.Unlock()
	p.deadline()
	close(p.done)
	p.server.peers.remove(p)
	go func() {
		p.starting.Wait()
		if err := p.pc.Close(); err != nil {
			p.server.Log.Debug("a WebRTC connection does not close", "stream", p.info.Stream, "error", err)
		}
		p.server.ports.queued.forget(p.waits)
		p.silence.Stop()
		p.place()
		p.ended(reason, begun)
		p.server.Group.End(p)
	}()
}

// late ends the session if no media connection has come about.
func (p *peer) late() {
	p.mu.Lock()
	begun := p.begun
	p.mu.Unlock()
	if !begun {
		p.end(ErrHandshake)
	}
}

func (p *peer) isOver() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// A peer is a net.Conn only for those who close it, and for a publisher's watchdog.

func (p *peer) Close() error { p.end(session.ErrClosing); return nil }

// SetReadDeadline sets when the watchdog checks.
func (p *peer) SetReadDeadline(at time.Time) error {
	p.silence.Reset(time.Until(at))
	return nil
}

func (p *peer) Read([]byte) (int, error)         { return 0, net.ErrClosed }
func (p *peer) Write([]byte) (int, error)        { return 0, net.ErrClosed }
func (p *peer) LocalAddr() net.Addr              { return noAddr{} }
func (p *peer) RemoteAddr() net.Addr             { return noAddr{} }
func (p *peer) SetDeadline(time.Time) error      { return nil }
func (p *peer) SetWriteDeadline(time.Time) error { return nil }

// noAddr is the address of a session: it may have several, one after another.
type noAddr struct{}

func (noAddr) Network() string { return "webrtc" }

func (noAddr) String() string { return "webrtc" }
