package relay

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/interceptor"
	pion "github.com/pion/webrtc/v4"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
)

// rtcServe starts a server with WebRTC on this machine.
func rtcServe(t *testing.T, change func(*relayConfig)) *relayServer {
	return startRelay(t, func(c *relayConfig) {
		c.WebRTC = "127.0.0.1:0"
		if change != nil {
			change(c)
		}
	})
}

// An rtcClient is a WebRTC client: a viewer, or a publisher.
type rtcClient struct {
	t        *testing.T
	s        *relayServer
	pc       *pion.PeerConnection
	location string
	etag     string
	header   http.Header
	state    chan pion.PeerConnectionState

	mu     sync.Mutex
	units  map[bool][]string // sums of pictures and frames of sound that have come
	seen   map[uint16]bool   // numbers of packets of pictures
	last   uint16            // the highest
	first  uint16
	upto   uint16 // see mark
	opened map[bool]bool
}

// rtcOptions are how a client connects.
type rtcOptions struct {
	tcp    bool
	server string // instead of the server's own port
	media  func(*pion.MediaEngine) error
	pc     func(*pion.PeerConnection) error // adds media
	auth   string
	change func(offer string) string
	more   []pion.TrackLocal // that a publisher has beside its pictures and sound
	socket net.PacketConn    // of UDP, instead of its own
}

// rtcNew makes a client that has not made its offer.
func rtcNew(t *testing.T, s *relayServer, o rtcOptions) *rtcClient {
	t.Helper()
	m, chain := &pion.MediaEngine{}, &interceptor.Registry{}
	media := o.media
	if media == nil {
		media = (*pion.MediaEngine).RegisterDefaultCodecs
	}
	if err := media(m); err != nil {
		t.Fatal(err)
	}
	if err := pion.RegisterDefaultInterceptors(m, chain); err != nil {
		t.Fatal(err)
	}
	var e pion.SettingEngine
	e.SetIncludeLoopbackCandidate(true)
	e.SetIPFilter(func(ip net.IP) bool { return ip.IsLoopback() })
	if o.socket != nil {
		mux := ice.NewUDPMuxDefault(ice.UDPMuxParams{UDPConn: o.socket})
		t.Cleanup(func() { mux.Close() })
		e.SetICEUDPMux(mux)
	}
	if o.tcp {
		e.SetNetworkTypes([]pion.NetworkType{pion.NetworkTypeTCP4})
	} else {
		e.SetNetworkTypes([]pion.NetworkType{pion.NetworkTypeUDP4})
	}
	pc, err := pion.NewAPI(pion.WithMediaEngine(m), pion.WithInterceptorRegistry(chain), pion.WithSettingEngine(e)).NewPeerConnection(pion.Configuration{})
	if err != nil {
		t.Fatal(err)
	}
	c := &rtcClient{t: t, s: s, pc: pc, units: map[bool][]string{}, opened: map[bool]bool{}, state: make(chan pion.PeerConnectionState, 16)}
	t.Cleanup(func() { pc.Close() })
	pc.OnConnectionStateChange(func(state pion.PeerConnectionState) {
		select {
		case c.state <- state:
		default:
		}
	})
	pc.OnTrack(c.take)
	if o.pc != nil {
		if err := o.pc(pc); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// offer returns an offer with the client's candidates.
func (c *rtcClient) offer() string {
	c.t.Helper()
	offer, err := c.pc.CreateOffer(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	gathered := pion.GatheringCompletePromise(c.pc)
	if err := c.pc.SetLocalDescription(offer); err != nil {
		c.t.Fatal(err)
	}
	select {
	case <-gathered:
	case <-time.After(relayWait):
		c.t.Fatal("no candidates")
	}
	return c.pc.LocalDescription().SDP
}

// rtcAsk makes a request and returns the answer's status, header and body.
func (s *relayServer) rtcAsk(t *testing.T, method, path, body string, fields ...string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.http+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == "POST" {
		req.Header.Set("Content-Type", "application/sdp")
	}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		req.Header.Set(name, value)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: relayWait}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

// start makes the offer and takes the answer.
func (c *rtcClient) start(path string, o rtcOptions) {
	c.t.Helper()
	var fields []string
	if o.auth != "" {
		fields = append(fields, "Authorization: Bearer "+o.auth)
	}
	offer := c.offer()
	if o.change != nil {
		offer = o.change(offer)
	}
	status, header, answer := c.s.rtcAsk(c.t, "POST", path, offer, fields...)
	if status != http.StatusCreated {
		c.t.Fatalf("%s: %d %s", path, status, answer)
	}
	c.location, c.etag, c.header = header.Get("Location"), header.Get("ETag"), header
	if o.server != "" {
		_, port, _ := net.SplitHostPort(o.server)
		_, own, _ := net.SplitHostPort(c.s.Addresses()["webrtc"])
		answer = strings.ReplaceAll(answer, " 127.0.0.1 "+own+" ", " 127.0.0.1 "+port+" ")
	}
	if err := c.pc.SetRemoteDescription(pion.SessionDescription{Type: pion.SDPTypeAnswer, SDP: answer}); err != nil {
		c.t.Fatalf("answer: %v\n%s", err, answer)
	}
}

// receivers are media that a viewer offers to take.
func receivers(kinds ...pion.RTPCodecType) func(*pion.PeerConnection) error {
	return func(pc *pion.PeerConnection) error {
		for _, kind := range kinds {
			if _, err := pc.AddTransceiverFromKind(kind, pion.RTPTransceiverInit{Direction: pion.RTPTransceiverDirectionRecvonly}); err != nil {
				return err
			}
		}
		return nil
	}
}

// watch starts a viewer of pictures and sound.
func (s *relayServer) rtcWatch(t *testing.T, path string, o rtcOptions) *rtcClient {
	t.Helper()
	if o.pc == nil {
		o.pc = receivers(pion.RTPCodecTypeVideo, pion.RTPCodecTypeAudio)
	}
	c := rtcNew(t, s, o)
	c.start(path, o)
	return c
}

// mediaFormat is the format in which a track of the library comes.
func mediaFormat(t *pion.TrackRemote) rtpmedia.Format {
	codec := t.Codec()
	name := codec.MimeType[strings.IndexByte(codec.MimeType, '/')+1:]
	encoding := fmt.Sprintf("%s/%d", name, codec.ClockRate)
	if codec.Channels > 0 {
		encoding += fmt.Sprintf("/%d", codec.Channels)
	}
	f, err := rtpmedia.ParseFormat(t.Kind() == pion.RTPCodecTypeVideo, uint8(codec.PayloadType), encoding, rtpmedia.Params(codec.SDPFmtpLine))
	if err != nil {
		panic(err)
	}
	return f
}

// rtcMemory is that of clients: a server looks for leaks in its own while they still read.
var rtcMemory = mem.New(mem.Options{Name: "clients of WebRTC"})

// take collects what comes on a track.
func (c *rtcClient) take(t *pion.TrackRemote, _ *pion.RTPReceiver) {
	f := mediaFormat(t)
	c.mu.Lock()
	c.opened[f.Video] = true
	c.mu.Unlock()
	x := rtpmedia.NewCollector(f, rtcMemory, 8<<20, func(s rtpmedia.Sample) error {
		defer s.Packed.Release()
		c.mu.Lock()
		defer c.mu.Unlock()
		if sum := sumOf(f.Codec, s.Packed.Bytes()[au.Room:]); sum != "" {
			c.units[f.Video] = append(c.units[f.Video], sum)
		}
		return nil
	})
	defer x.Close()
	for {
		p, _, err := t.ReadRTP()
		if err != nil {
			return
		}
		if f.Video {
			c.saw(p.SequenceNumber)
		}
		raw, err := p.Marshal()
		if err != nil {
			return
		}
		if x.Push(mem.Wrap(raw, nil), time.Now()) != nil {
			return
		}
	}
}

// saw notes the number of a packet of pictures.
func (c *rtcClient) saw(number uint16) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen, c.first, c.last = map[uint16]bool{}, number, number
	}
	c.seen[number] = true
	if int16(number-c.last) > 0 {
		c.last = number
	}
}

// packets is how many packets of pictures have come.
func (c *rtcClient) packets() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}

// mark says that missing counts up to the newest packet.
func (c *rtcClient) mark() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.upto = c.last
}

// missing is how many packets of pictures are missing between the first and the mark.
func (c *rtcClient) missing() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for number := c.first; int16(c.upto-number) > 0; number++ {
		if !c.seen[number] {
			n++
		}
	}
	return n
}

// streaming waits until a stream has pictures.
func (s *relayServer) streaming(t *testing.T, name string) {
	t.Helper()
	relayEventually(t, name+" has frames", func() bool {
		st, ok := s.host.Hub.Stream(name)
		return ok && st.Stats().FramesIn > 50
	})
}

// sumOf is a picture or a frame of sound without parameter sets.
func sumOf(codec flv.FourCC, media []byte) string {
	h := sha256.New()
	n := 0
	parts := [][]byte{media}
	if codec == flv.CodecAVC || codec == flv.CodecHEVC {
		parts, _ = au.SplitLengths(nil, media)
	}
	for _, p := range parts {
		if (codec == flv.CodecAVC || codec == flv.CodecHEVC) && (au.IsSet(codec, p) || codec == flv.CodecAVC && au.NALType(codec, p) == 9) {
			continue
		}
		h.Write(p)
		n++
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

func (c *rtcClient) got(video bool) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.units[video])
}

// sumsOf are the pictures and frames of sound among tags, without the pictures that come
// too late to be shown in order and that no other refers to.
func sumsOf(t *testing.T, tags []flvtest.Tag, video bool) []string {
	t.Helper()
	var s au.Splitter
	var list []string
	shown := int64(-1)
	for _, g := range tags {
		u, ok, err := s.Split(g.Type, g.Time, []byte(g.Payload))
		if err != nil {
			t.Fatal(err)
		}
		if !ok || u.Video != video {
			continue
		}
		if at := int64(u.Time) + int64(u.Offset); at >= shown || !au.Disposable(u.Codec, u.Parts) {
			shown = max(shown, at)
		} else {
			continue
		}
		h := sha256.New()
		n := 0
		for _, p := range u.Parts {
			if u.Codec == flv.CodecAVC && (au.IsSet(u.Codec, p) || au.NALType(u.Codec, p) == 9) {
				continue
			}
			h.Write(p)
			n++
		}
		if n > 0 {
			list = append(list, fmt.Sprintf("%x", h.Sum(nil)[:8]))
		}
	}
	return list
}

// within checks that got is a part of want without gaps, and returns where.
func within(t *testing.T, what string, got, want []string) int {
	t.Helper()
	if len(got) == 0 {
		t.Fatalf("%s: nothing came", what)
	}
	at := slices.Index(want, got[0])
	if at < 0 || at+len(got) > len(want) || !slices.Equal(got, want[at:at+len(got)]) {
		t.Fatalf("%s: %d that came are not a part of %d that were sent, at %d", what, len(got), len(want), at)
	}
	return at
}

// What is published as FLV a viewer of WebRTC gets, the same bytes; AAC has no way
// there, and that is said. A data channel that is offered beside is rejected by itself.
func TestWHEPOfFLV(t *testing.T) {
	for _, tcp := range []bool{false, true} {
		t.Run(fmt.Sprintf("tcp %v", tcp), func(t *testing.T) {
			s := rtcServe(t, nil)
			tags := flvtest.Clip(t)
			p := s.publishing(t, "/live/s.flv")
			half := len(tags) / 2
			p.send(t, tags[:half]...)
			s.streaming(t, "live/s")
			v := s.rtcWatch(t, "/live/s/whep", rtcOptions{tcp: tcp, pc: func(pc *pion.PeerConnection) error {
				_, err := pc.CreateDataChannel("d", nil)
				return errors.Join(err, receivers(pion.RTPCodecTypeVideo, pion.RTPCodecTypeAudio)(pc))
			}})
			if got := v.header.Get("Sluice-Left-Out"); got != "mp4a" {
				t.Errorf("left out: %q", got)
			}
			s.log.line(t, "left out", "mp4a")
			relayEventually(t, "pictures", func() bool { return len(v.got(true)) > 0 })
			// In pieces that are awaited: the socket of a busy client does not hold all.
			var want []string
			for n := half; n < len(tags); n += 20 {
				end := min(n+20, len(tags))
				p.send(t, tags[n:end]...)
				want = sumsOf(t, tags[:end], true)
				relayEventually(t, "the last picture but one", func() bool { return slices.Contains(v.got(true), want[len(want)-2]) })
			}
			within(t, "pictures", v.got(true), want)
			p.Close()
		})
	}
}
