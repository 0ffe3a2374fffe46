package relay

import (
	"encoding/binary"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	srt "github.com/datarhei/gosrt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
)

// startSRT runs a server with SRT on a port of the system's choosing.
func startSRT(t *testing.T, change func(*relayConfig)) (*relayServer, string) {
	t.Helper()
	s := startRelay(t, func(c *relayConfig) {
		c.SRT = "127.0.0.1:0"
		if change != nil {
			change(c)
		}
	})
	return s, s.Addresses()["srt"]
}

// What is published by SRT is watched by SRT, and by HTTP-FLV, with the same bytes.
func TestSRTThereAndBack(t *testing.T) {
	s, address := startSRT(t, nil)
	p := srtConnect(t, address, "#!::r=live/s,m=publish", nil)
	feed := s.srtPublish(t, p, "live/s", 40)
	v := srtReceive(srtConnect(t, address, "#!::r=live/s", nil))
	resp, flv := s.playing(t, "/live/s.flv")
	defer resp.Body.Close()
	s.viewersOf(t, "live/s", 1)
	relayEventually(t, "the viewer by SRT has something", func() bool {
		feed.more()
		return v.count() > 20
	})
	n := srtClip().round
	if err := srtSend(p, feed.next, n, 8); err != nil {
		t.Fatal(err)
	}
	feed.next = max(feed.next, n)
	video, _ := srtKinds(srtClip().units[:n])
	var gotVideo, gotAudio []string
	relayEventually(t, "the viewer has the end, of this round or of another", func() bool {
		gotVideo, gotAudio = v.kinds()
		if len(gotVideo) > 0 && slices.Contains(video[len(video)-40:], gotVideo[len(gotVideo)-1]) && len(gotAudio) > 0 {
			return true
		}
		feed.more()
		return false
	})
	video, audio := srtKinds(srtClip().units[:feed.next])
	srtSame(t, "pictures", gotVideo, video)
	srtSame(t, "sound", gotAudio, audio)
	_ = flv
	status, text := s.get(t, "/api/clients")
	if status != http.StatusOK || strings.Count(text, `"protocol":"srt"`) != 2 {
		t.Errorf("%d %s", status, text)
	}
	if status, text := s.get(t, "/metrics"); status != http.StatusOK || !strings.Contains(text, `protocol="srt"`) {
		t.Errorf("%d, no figures of SRT", status)
	}
	p.Close()
	relayEventually(t, "the publisher has ended", func() bool { _, ok := s.host.Hub.Stream("live/s"); return !ok })
	<-v.done
	s.log.line(t, "publisher ended", "protocol=srt")
	s.log.line(t, "viewer ended", "protocol=srt")
}

// A stream of HTTP-FLV is watched by SRT.
func TestSRTOfAnotherProtocol(t *testing.T) {
	s, address := startSRT(t, nil)
	p := s.publishing(t, "/live/s.flv")
	clip := flvtest.Clip(t)
	// The clip again and again, at some times its own pace, until the viewers have enough.
	enough, sent := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sent)
		for round := uint32(0); ; round++ {
			for i, tag := range clip {
				if round > 0 && i < 3 {
					continue // metadata and headers
				}
				select {
				case <-enough:
					return
				case <-time.After(2 * time.Millisecond):
				}
				tag.Time += round * 11_000
				p.send(t, tag)
			}
		}
	}()
	relayEventually(t, "the stream is there", func() bool { _, ok := s.host.Hub.Stream("live/s"); return ok })
	var sinks []*srtSink
	for range 3 {
		sinks = append(sinks, srtReceive(srtConnect(t, address, "live/s", nil)))
	}
	for _, v := range sinks {
		relayEventually(t, "each viewer has something", func() bool { return v.count() > 100 })
	}
	// The packets are made once.
	if n := len(s.srt.Hub().Streams()); n != 1 {
		t.Errorf("%d streams of packets", n)
	}
	close(enough)
	<-sent
	p.Close()
	p.answered(t)
	video, _ := srtKinds(srtClip().units)
	for _, v := range sinks {
		<-v.done
		got, _ := v.kinds()
		for i, picture := range got {
			// The end of the last one is lost when the machine stands still while the server ends.
			if i < len(got)-1 && !slices.Contains(video, picture) {
				t.Fatalf("picture %d of %d is none of the clip's", i, len(got))
			}
		}
	}
	relayEventually(t, "no packets are made any more", func() bool { return len(s.srt.Hub().Streams()) == 0 })
}

// With one datagram in ten lost each way nothing is missing, within a latency of 200 ms.
func TestSRTOverABadLine(t *testing.T) {
	if os.Getenv("SLUICE_LONG") == "" {
		t.Skip("set SLUICE_LONG: a machine that stands still for 200 ms loses packets too")
	}
	s, address := startSRT(t, nil)
	in := srtLossy(t, address, 10, 5*time.Millisecond)
	out := srtLossy(t, address, 10, 5*time.Millisecond)
	p := srtConnect(t, in.address(), "#!::r=live/s,m=publish", srtShort)
	const until = 260
	sent := make(chan error, 1)
	go func() { sent <- srtSend(p, 0, until, 1) }()
	relayEventually(t, "the stream is there", func() bool { st, ok := s.host.Hub.Stream("live/s"); return ok && st.Stats().FramesIn > 5 })
	conn := srtConnect(t, out.address(), "read:live/s", srtShort)
	v := srtReceive(conn)
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	video, _ := srtKinds(srtClip().units[:until])
	relayEventually(t, "the viewer has the end", func() bool {
		got, _ := v.kinds()
		return len(got) > 0 && slices.Contains(video[len(video)-5:], got[len(got)-1])
	})
	got, _ := v.kinds()
	if i := slices.Index(video, got[0]); i != 0 || !slices.Equal(got, video[:len(got)]) {
		t.Errorf("%d pictures from %d on, not what was sent", len(got), i)
	}
	var stats srt.Statistics
	conn.Stats(&stats)
	if in.lost.Load() < 20 || out.lost.Load() < 20 {
		t.Errorf("%d of %d and %d of %d datagrams were lost, %+v", in.lost.Load(), in.all.Load(), out.lost.Load(), out.all.Load(), stats.Accumulated)
	}
}

func TestSRTAccess(t *testing.T) {
	const secret = "a secret that is long enough to be one"
	s, address := startSRT(t, func(c *relayConfig) {
		c.TokenSecret, c.Protect, c.APIToken = secret, []string{"publish", "play"}, recordingsToken
	})
	sign := func(a access.Action, stream string) string {
		return access.Sign([]byte(secret), a, stream, time.Now().Add(time.Hour))
	}
	for _, id := range []string{
		"", "live", "live/s", "#!::", "#!::r=live/s", "#!::r=live/s,m=publish", "#!::r=live/s,m=bidirectional", "#!::r=live/s,t=file,m=publish", "#!::r", "publish:live/s",
		"#!::r=live/s,m=publish,s=" + sign(access.Play, "live/s"), "#!::r=live/s,m=publish,token=" + sign(access.Publish, "live/t"),
		"#!::r=live/../s,m=publish,s=" + sign(access.Publish, "live/s"), "#!::r=api/s,m=publish,s=" + sign(access.Publish, "api/s"), "#!::r=live/\x00s,m=publish",
		"#!::r=live/s,m=request,s=" + sign(access.Play, "live/s"), // there is none
	} {
		if conn, err := srtDial(t, address, id, func(c *srt.Config) { c.ConnectionTimeout = relayWait }); err == nil {
			conn.Close()
			t.Errorf("%q is admitted", id)
		}
	}
	p := srtConnect(t, address, "#!::m=publish,u=cam,r=live/s,s="+sign(access.Publish, "live/s"), nil)
	feed := s.srtPublish(t, p, "live/s", 30)
	if conn, err := srtDial(t, address, "publish:live/s?token="+sign(access.Publish, "live/s")+"x", nil); err == nil {
		conn.Close()
		t.Error("a wrong token is admitted")
	}
	v := srtConnect(t, address, "live/s?token="+url.QueryEscape(sign(access.Play, "live/s")), nil)
	sink := srtReceive(v)
	relayEventually(t, "it plays", func() bool {
		feed.more()
		return sink.count() > 5
	})
	if strings.Contains(s.log.String(), sign(access.Publish, "live/s")[:20]) {
		t.Error("a token is in the log")
	}
	// Both are ended over the API.
	for _, c := range slices.Backward(s.host.Register.List()) { // the publisher last
		if status, text := s.do(t, "DELETE", "/api/clients/"+c.ID, recordingsHeader); status != http.StatusNoContent {
			t.Errorf("%d %s", status, text)
		}
	}
	<-sink.done
	if !srtEnded(t, p) {
		t.Error("the publisher was not ended")
	}
	s.log.line(t, "publisher ended", "reason=kicked")
	relayEventually(t, "nothing is counted any more", func() bool {
		u := s.host.Gate.Usage()
		return u.Viewers == 0 && u.Streams == 0 && len(s.host.Register.List()) == 0
	})
}

func TestSRTPassphrase(t *testing.T) {
	const passphrase = "open sesame 123"
	_, plain := startSRT(t, nil) // first: a server looks for leaks when it ends, and that of the publisher must have ended then
	s, address := startSRT(t, func(c *relayConfig) { c.SRTPassphrase = passphrase })
	for name, change := range map[string]func(*srt.Config){
		"none":        nil,
		"another one": func(c *srt.Config) { c.Passphrase = "open barley 123" },
	} {
		if conn, err := srtDial(t, address, "publish:live/s", change); err == nil {
			conn.Close()
			t.Errorf("a publisher with a passphrase that is %s is admitted", name)
		}
	}
	right := func(c *srt.Config) { c.Passphrase = passphrase }
	p := srtConnect(t, address, "publish:live/s", right)
	feed := s.srtPublish(t, p, "live/s", 30)
	v := srtReceive(srtConnect(t, address, "live/s", right))
	relayEventually(t, "it plays", func() bool {
		feed.more()
		return v.count() > 5
	})
	if strings.Contains(s.log.String(), passphrase) {
		t.Error("the passphrase is in the log")
	}
	if conn, err := srtDial(t, plain, "publish:live/s", right); err == nil {
		conn.Close()
		t.Error("an encrypted publisher is admitted where no passphrase is set")
	}
}

// Encoders are set to latencies in microseconds that count as milliseconds: the log says so.
func TestSRTLatencyThatIsNotTaken(t *testing.T) {
	s, address := startSRT(t, nil)
	if conn, err := srtDial(t, address, "publish:live/s", func(c *srt.Config) { c.ReceiverLatency, c.PeerLatency = 20*time.Second, 20*time.Second }); err == nil {
		conn.Close()
		t.Error("a latency of 20 s is taken")
	}
	s.log.line(t, "publisher refused", "stream=live/s", "a latency of 20s, at most 8s")
}

// A publisher that is silent, or sends what is no stream, is ended.
func TestSRTPublishersThatSendNothing(t *testing.T) {
	s, address := startSRT(t, func(c *relayConfig) {
		c.times.Silence, c.times.Rate, c.times.Step = time.Second, 3*time.Second, 100*time.Millisecond
	})
	silent := srtConnect(t, address, "publish:live/silent", nil)
	if !srtEnded(t, silent) {
		t.Error("a silent publisher stays")
	}
	s.log.line(t, "publisher ended", "stream=live/silent", "nothing came in time")
	wrong := srtConnect(t, address, "publish:live/wrong", nil)
	ended := make(chan bool, 1)
	go func() { ended <- srtEnded(t, wrong) }()
	for range 200 {
		if _, err := wrong.Write([]byte(strings.Repeat("no transport stream ", 60))); err != nil {
			break
		}
		<-time.After(time.Millisecond)
	}
	if !<-ended {
		t.Error("a publisher of something else stays")
	}
	s.log.line(t, "publisher ended", "stream=live/wrong")
}

// srtAnswer is how long an answer to a handshake is awaited before another try; to most
// none comes.
const srtAnswer = 1500 * time.Millisecond

// srtHandshake is a packet of SRT's handshake (section 3.2.1 of its draft).
func srtHandshake(kind, cookie uint32, change func(p []byte)) []byte {
	p := make([]byte, 16+48+16)
	p[0] = 0x80
	h := p[16:]
	binary.BigEndian.PutUint32(h, 5)
	binary.BigEndian.PutUint16(h[6:], 1)
	binary.BigEndian.PutUint32(h[12:], 1500)
	binary.BigEndian.PutUint32(h[16:], 8192)
	binary.BigEndian.PutUint32(h[20:], kind)
	binary.BigEndian.PutUint32(h[24:], 1234)
	binary.BigEndian.PutUint32(h[28:], cookie)
	copy(h[48:], []byte{0, 1, 0, 3, 0, 1, 4, 1, 0, 0, 0, 0xbf, 0, 200, 0, 200})
	if change != nil {
		change(p)
	}
	return p
}

// The server outlives handshakes that are not what they should be: those that the
// library would allocate gigabytes for, those of a version in which packets end it, and
// those that are cut off.
func TestSRTHostileHandshakes(t *testing.T) {
	s, address := startSRT(t, nil)
	dial := func() *net.UDPConn {
		to, err := net.ResolveUDPAddr("udp", address)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.DialUDP("udp", nil, to)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	// ask sends a conclusion with the right cookie over c, and returns the answer's type.
	ask := func(c *net.UDPConn, change func(p []byte)) uint32 {
		for range 20 {
			c.Write(srtHandshake(1, 0, func(p []byte) { binary.BigEndian.PutUint32(p[16:], 4); binary.BigEndian.PutUint16(p[22:], 2) }))
			c.SetReadDeadline(time.Now().Add(srtAnswer))
			answer := make([]byte, 1500)
			n, err := c.Read(answer)
			if err != nil || n < 64 {
				continue
			}
			c.SetReadDeadline(time.Now().Add(srtAnswer))
			c.Write(srtHandshake(0xffffffff, binary.BigEndian.Uint32(answer[16+28:]), change))
			if n, err = c.Read(answer); err != nil || n < 64 {
				return 0 // no answer at all
			}
			return binary.BigEndian.Uint32(answer[16+20:])
		}
		t.Error("no answer to the first handshake")
		return 0
	}
	var asking sync.WaitGroup
	for name, change := range map[string]func(p []byte){
		"packets of no bytes":   func(p []byte) { binary.BigEndian.PutUint32(p[16+12:], 0) },
		"packets of 40 bytes":   func(p []byte) { binary.BigEndian.PutUint32(p[16+12:], 40) },
		"packets of 4 GB":       func(p []byte) { binary.BigEndian.PutUint32(p[16+12:], 1<<32-1) },
		"a latency of a minute": func(p []byte) { binary.BigEndian.PutUint16(p[16+48+14:], 60000) },
		"version 4":             func(p []byte) { binary.BigEndian.PutUint32(p[16:], 4); binary.BigEndian.PutUint16(p[16+6:], 2) },
		"no stream id":          nil,
	} {
		c := dial()
		asking.Go(func() {
			if got := ask(c, change); got == 0xffffffff {
				t.Errorf("%s: accepted", name)
			}
		})
	}
	asking.Wait()
	// Cut off inside an extension: the library's parser panics.
	for cut := 16; cut < 80; cut++ {
		c := dial()
		c.Write(srtHandshake(0xffffffff, 0, nil)[:cut])
		c.Write(append(srtHandshake(0xffffffff, 0, nil), make([]byte, cut%5)...))
	}
	s.srtPublish(t, srtConnect(t, address, "publish:live/s", nil), "live/s", 30)
}
