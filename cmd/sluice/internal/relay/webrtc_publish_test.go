package relay

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pion "github.com/pion/webrtc/v4"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpfeed"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/flv"
)

// An rtcSource publishes the pictures of a clip, and sound as of Opus.
type rtcSource struct {
	*rtcClient
	video, audio *pion.TrackLocalStaticRTP
	muxer        *rtpmedia.Muxer
	cutter       rtpfeed.Cutter
	splitter     au.Splitter
	pli          atomic.Int64 // key frames that were asked for
	sound        uint32       // time of the next frame of sound
	shift        uint32       // of the tags' times
}

// rtcPublish starts a publisher and waits until it may send.
func (s *relayServer) rtcPublish(t *testing.T, path string, o rtcOptions) *rtcSource {
	t.Helper()
	x := &rtcSource{}
	var err error
	if x.video, err = pion.NewTrackLocalStaticRTP(pion.RTPCodecCapability{MimeType: pion.MimeTypeH264, ClockRate: 90000, SDPFmtpLine: "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"}, "v", "s"); err != nil {
		t.Fatal(err)
	}
	if x.audio, err = pion.NewTrackLocalStaticRTP(pion.RTPCodecCapability{MimeType: pion.MimeTypeOpus, ClockRate: 48000, Channels: 2}, "a", "s"); err != nil {
		t.Fatal(err)
	}
	o.pc = func(pc *pion.PeerConnection) error {
		for _, track := range append([]pion.TrackLocal{x.video, x.audio}, o.more...) {
			transceiver, err := pc.AddTransceiverFromTrack(track, pion.RTPTransceiverInit{Direction: pion.RTPTransceiverDirectionSendonly})
			if err != nil {
				return err
			}
			go func() { // what the library answers, it reads here
				buf := make([]byte, 1500)
				for {
					n, _, err := transceiver.Sender().Read(buf)
					if err != nil {
						return
					}
					if n >= 12 && buf[1] == 206 && buf[0]&0x1f == 1 {
						x.pli.Add(1)
					}
				}
			}()
		}
		return nil
	}
	x.rtcClient = rtcNew(t, s, o)
	x.start(path, o)
	c, err := rtpmedia.NewFormat(au.NewOpusConfig(2))
	if err != nil {
		t.Fatal(err)
	}
	c.Channel = 2
	x.muxer = rtpmedia.NewMuxer([]rtpmedia.Format{{Video: true, Codec: flv.CodecAVC, PayloadType: 96, Clock: 90000}, c})
	x.muxer.Limit(1100)
	x.until(pion.PeerConnectionStateConnected)
	return x
}

// until waits for a state of the connection.
func (c *rtcClient) until(want pion.PeerConnectionState) {
	c.t.Helper()
	late := time.NewTimer(relayWait)
	defer late.Stop()
	for {
		select {
		case state := <-c.state:
			if state == want {
				return
			}
		case <-late.C:
			c.t.Fatalf("the connection is %v, not %v", c.pc.ConnectionState(), want)
		}
	}
}

// send sends the pictures among tags, and sound up to their times, one each 3 ms,
// so that no socket's buffer is too small. It returns the sums of the sound.
func (x *rtcSource) send(tags ...flvtest.Tag) (sound []string) {
	x.t.Helper()
	pace := time.NewTicker(3 * time.Millisecond)
	defer pace.Stop()
	put := func(u *au.Unit) {
		p, err := x.muxer.Append(nil, u, time.Now())
		if err != nil {
			x.t.Fatal(err)
		}
		x.cutter.Cut(p, func(channel byte, packet []byte) bool {
			switch channel {
			case 0:
				_, err = x.video.Write(packet)
			case 2:
				_, err = x.audio.Write(packet)
			}
			return err == nil
		})
		if err != nil {
			x.t.Fatal(err)
		}
	}
	for _, g := range tags {
		g.Time += x.shift
		u, ok, err := x.splitter.Split(g.Type, g.Time, []byte(g.Payload))
		if err != nil {
			x.t.Fatal(err)
		}
		if !ok || !u.Video {
			continue
		}
		<-pace.C
		put(&u)
		for ; x.sound <= u.Time; x.sound += 20 {
			frame := append([]byte{0xfc}, bytes.Repeat([]byte{byte(x.sound / 20)}, 90)...)
			put(&au.Unit{Codec: flv.CodecOpus, Config: au.NewOpusConfig(2), Time: x.sound, Parts: [][]byte{frame}})
			sound = append(sound, sumOf(flv.CodecOpus, frame))
		}
	}
	return sound
}

// begin sends tags, and all of them again until a stream has a key frame and sound of them: what comes
// first may be too early for the server. It returns the sums of the sound.
func (x *rtcSource) begin(stream string, tags ...flvtest.Tag) (sound []string) {
	x.t.Helper()
	relayEventually(x.t, "pictures and sound of a publisher", func() bool {
		if st, ok := x.s.host.Hub.Stream(stream); ok && len(st.Stats().VideoConfig) > 0 && len(st.Stats().AudioConfig) > 0 {
			return true
		}
		if len(sound) > 0 {
			x.shift += tags[len(tags)-1].Time + 40
		}
		sound = append(sound, x.send(tags...)...)
		return false
	})
	return sound
}

// allSums are the sums of pictures, late ones too.
func allSums(t *testing.T, tags []flvtest.Tag) []string {
	t.Helper()
	var s au.Splitter
	var list []string
	for _, g := range tags {
		u, ok, err := s.Split(g.Type, g.Time, []byte(g.Payload))
		if err != nil {
			t.Fatal(err)
		}
		if !ok || !u.Video {
			continue
		}
		var p []byte
		for _, part := range u.Parts {
			p = append(append(p, byte(len(part)>>24), byte(len(part)>>16), byte(len(part)>>8), byte(len(part))), part...)
		}
		if sum := sumOf(flv.CodecAVC, p); sum != "" {
			list = append(list, sum)
		}
	}
	return list
}

// What WHIP publishes, FLV and WHEP play: the same pictures and the same sound.
func TestWHIPToAll(t *testing.T) {
	s := rtcServe(t, func(c *relayConfig) { c.MinPublishRate = 0 })
	tags := flvtest.Clip(t)
	x := s.rtcPublish(t, "/live/s/whip", rtcOptions{})
	half := len(tags) / 2
	sound := x.begin("live/s", tags[:half]...)
	resp, r := s.playing(t, "/live/s.flv?wait=20")
	if resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	var mu sync.Mutex
	var played []flvtest.Tag
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			g, err := r.Next()
			if err != nil {
				return
			}
			mu.Lock()
			played = append(played, g)
			mu.Unlock()
		}
	}()
	playedSums := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return allSums(t, played)
	}
	v := s.rtcWatch(t, "/live/s/whep", rtcOptions{})
	if got := v.header.Get("Sluice-Left-Out"); got != "" {
		t.Errorf("left out: %q", got)
	}
	relayEventually(t, "pictures", func() bool { return len(v.got(true)) > 0 })
	sound = append(sound, x.send(tags[half:]...)...)
	want, wantInOrder := allSums(t, tags), sumsOf(t, tags, true)
	relayEventually(t, "the last pictures and sound", func() bool {
		return slices.Contains(v.got(true), wantInOrder[len(wantInOrder)-3]) && slices.Contains(v.got(false), sound[len(sound)-2])
	})
	// The last one comes out of the library with what follows it.
	relayEventually(t, "the last pictures over HTTP", func() bool { return slices.Contains(playedSums(), want[len(want)-2]) })
	within(t, "WHEP, pictures", v.got(true), wantInOrder)
	within(t, "WHEP, sound", v.got(false), sound)
	if s, h, body := s.rtcAsk(t, "DELETE", x.location, ""); s != 200 {
		t.Errorf("DELETE: %d %v %s", s, h, body)
	}
	s.log.line(t, "publisher ended", "protocol=whip", "the publisher said that it was done")
	<-over
	got := playedSums()
	if at := within(t, "FLV, pictures", got, want); at+len(got) < len(want)-1 {
		t.Errorf("FLV ends with picture %d of %d", at+len(got), len(want))
	}
	gotSound := sumsOf(t, played, false)
	within(t, "FLV, sound", gotSound, sound)
	s.log.line(t, "viewer ended", "protocol=whep", "over")
}

// ffmpeg offers to wait for the handshake (a=setup:passive), which RFC 9725 does not have: the server begins it then.
func TestWHIPOfAClientThatWaitsForTheHandshake(t *testing.T) {
	t.Parallel()
	s := rtcServe(t, nil)
	x := s.rtcPublish(t, "/live/s/whip", rtcOptions{change: func(offer string) string { return strings.ReplaceAll(offer, "a=setup:actpass", "a=setup:passive") }})
	if answer := x.pc.RemoteDescription().SDP; !strings.Contains(answer, "a=setup:active\r\n") || strings.Contains(answer, "a=setup:passive") {
		t.Errorf("the answer is\n%s", answer)
	}
}

// Of a publisher that sends pictures twice, as a client does that sends all layers of
// simulcast whatever the answer says, those are taken that come first, and no others
// among them.
func TestWHIPOfTwoPictures(t *testing.T) {
	s := rtcServe(t, func(c *relayConfig) { c.MinPublishRate = 0 })
	tags := flvtest.Clip(t)
	second, err := pion.NewTrackLocalStaticRTP(pion.RTPCodecCapability{MimeType: pion.MimeTypeH264, ClockRate: 90000, SDPFmtpLine: "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"}, "w", "s")
	if err != nil {
		t.Fatal(err)
	}
	more := []pion.TrackLocal{second}
	for i := range 4 { // and of some nothing comes
		silent, err := pion.NewTrackLocalStaticRTP(second.Codec(), fmt.Sprint("silent", i), "s")
		if err != nil {
			t.Fatal(err)
		}
		more = append(more, silent)
	}
	x := s.rtcPublish(t, "/live/s/whip", rtcOptions{more: more})
	half := len(tags) / 2
	sound := x.begin("live/s", tags[:half]...)
	v := s.rtcWatch(t, "/live/s/whep", rtcOptions{})
	relayEventually(t, "pictures", func() bool { return len(v.got(true)) > 0 })
	for n := range uint16(50) {
		packet := []byte{0x80, 0xe0, byte(n >> 8), byte(n), 0, 0, byte(n), 0, 0, 0, 0, 0, 0x65, 0x88, 1, 2, byte(n)}
		if _, err := second.Write(packet); err != nil {
			t.Fatal(err)
		}
	}
	sound = append(sound, x.send(tags[half:]...)...)
	want := sumsOf(t, tags, true)
	relayEventually(t, "the last pictures and sound", func() bool {
		return slices.Contains(v.got(true), want[len(want)-3]) && slices.Contains(v.got(false), sound[len(sound)-2])
	})
	within(t, "pictures", v.got(true), want)
	within(t, "sound", v.got(false), sound)
}

// A lossy is a way to the server that loses some packets of media, both ways.
type lossy struct {
	conn    *net.UDPConn
	server  netip.AddrPort
	lost    atomic.Int64
	passed  atomic.Int64
	percent int

	mu      sync.Mutex
	random  *rand.Rand
	clients map[netip.AddrPort]*net.UDPConn
}

func newLossy(t *testing.T, server string, percent int) *lossy {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	l := &lossy{conn: conn, server: netip.MustParseAddrPort(server), percent: percent, random: rand.New(rand.NewPCG(seed, 1)), clients: map[netip.AddrPort]*net.UDPConn{}}
	var running sync.WaitGroup
	running.Go(func() { l.run(&running) })
	t.Cleanup(func() {
		conn.Close()
		l.mu.Lock()
		for _, c := range l.clients {
			c.Close()
		}
		l.mu.Unlock()
		running.Wait()
	})
	return l
}

func (l *lossy) address() string { return l.conn.LocalAddr().String() }

// loses decides about a packet: those of ICE and DTLS pass.
func (l *lossy) loses(p []byte) bool {
	if len(p) == 0 || p[0] < 128 || p[0] > 191 {
		return false
	}
	l.mu.Lock()
	lost := l.random.IntN(100) < l.percent
	l.mu.Unlock()
	if lost {
		l.lost.Add(1)
	} else {
		l.passed.Add(1)
	}
	return lost
}

func (l *lossy) run(running *sync.WaitGroup) {
	buf := make([]byte, 2048)
	for {
		n, from, err := l.conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		l.mu.Lock()
		c := l.clients[from]
		if c == nil {
			if c, err = net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(l.server)); err != nil {
				l.mu.Unlock()
				return
			}
			l.clients[from] = c
			running.Go(func() {
				buf := make([]byte, 2048)
				for {
					n, err := c.Read(buf)
					if err != nil {
						return
					}
					if !l.loses(buf[:n]) {
						_, _ = l.conn.WriteToUDPAddrPort(buf[:n], from)
					}
				}
			})
		}
		l.mu.Unlock()
		if !l.loses(buf[:n]) {
			_, _ = c.Write(buf[:n])
		}
	}
}

// With every twentieth packet lost on both ways, the lost ones are sent again and the
// picture goes on.
func TestWebRTCWithLoss(t *testing.T) {
	s := rtcServe(t, func(c *relayConfig) { c.MinPublishRate = 0 })
	way := newLossy(t, s.Addresses()["webrtc"], 5)
	tags := flvtest.Clip(t)
	x := s.rtcPublish(t, "/live/s/whip", rtcOptions{server: way.address()})
	quarter := len(tags) / 4
	x.begin("live/s", tags[:quarter]...)
	_, r := s.playing(t, "/live/s.flv?wait=20")
	var mu sync.Mutex
	var played []flvtest.Tag
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			g, err := r.Next()
			if err != nil {
				return
			}
			mu.Lock()
			played = append(played, g)
			mu.Unlock()
		}
	}()
	playedSums := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return allSums(t, played)
	}
	v := s.rtcWatch(t, "/live/s/whep", rtcOptions{server: way.address()})
	relayEventually(t, "pictures", func() bool { return v.packets() > 0 })
	middle := tags[quarter : 3*quarter]
	x.send(middle...)
	relayEventually(t, "enough packets to lose some", func() bool { // a busy server leaves pictures out
		if v.packets() >= 100 {
			return true
		}
		x.shift += middle[len(middle)-1].Time - middle[0].Time + 40
		x.send(middle...)
		return false
	})
	v.mark()
	// What is sent again comes out of the library with what is sent next.
	rest := tags[3*quarter:]
	pace := time.NewTicker(30 * time.Millisecond)
	defer pace.Stop()
	for ; len(rest) > 0 && v.missing() > 0; rest = rest[1:] {
		<-pace.C
		x.send(rest[0])
	}
	if n := v.missing(); n > 0 {
		t.Errorf("%d of %d packets were not sent again", n, v.packets())
	}
	for _, tag := range rest {
		<-pace.C
		x.send(tag)
	}
	want := allSums(t, tags)
	// What waits for a packet that is sent again is lost when the publisher leaves.
	relayEventually(t, "one of the last pictures", func() bool {
		got := playedSums()
		if len(got) > 0 && slices.Contains(want[len(want)-20:], got[len(got)-1]) {
			return true
		}
		last := tags[3*quarter:] // again, with a key frame: a busy server may have lost the end
		x.shift += last[len(last)-1].Time - last[0].Time + 40
		x.send(last...)
		return false
	})
	s.rtcAsk(t, "DELETE", x.location, "")
	<-over
	got := playedSums()
	if len(got) == 0 {
		t.Fatal("no picture came from the publisher")
	}
	want = want[slices.Index(want, got[0]):]
	t.Logf("%d of %d packets were lost; %d of %d pictures came from the publisher", way.lost.Load(), way.lost.Load()+way.passed.Load(), len(got), len(want))
	if way.lost.Load() == 0 || len(got) < len(want)*8/10 {
		t.Errorf("%d of %d pictures came", len(got), len(want))
	}
}
