//go:build linux

package realtest

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	pion "github.com/pion/webrtc/v4"
)

// A crowd publishes large frames as fast as it can to a server in a small container: those that
// there is no memory for end with the reason, the kernel does not kill the server, and viewers of
// another stream stay.
func TestFastPublishersInASmallControlGroup(t *testing.T) {
	long(t, "crowds send for some seconds each")
	if !measured() {
		t.Skip("the checks take memory of their own")
	}
	for _, way := range []struct {
		name    string
		crowd   int
		open    func(t testing.TB, s *server, name string) (flood, error)
		refused bool // some end
	}{
		{"flv", 60, floodFLV, true},
		{"rtmp", 60, floodRTMP, true},
		{"rtsp", 60, func(t testing.TB, s *server, name string) (flood, error) { return floodRTSP(t, s, name, false) }, true},
		{"rtsp over UDP", 60, func(t testing.TB, s *server, name string) (flood, error) { return floodRTSP(t, s, name, true) }, false},
		{"whip over UDP", 40, floodWHIPOverUDP, false},
	} {
		t.Run(way.name, func(t *testing.T) {
			group := memoryGroup(t, 128<<20)
			s := serve(t, options{
				flags: strings.Fields("--max-streams 0 --max-streams-per-address 0 --max-handshakes-per-address 200 --publish-timeout 2m --min-publish-rate 0"),
				under: within(group),
			})
			good := publishHTTP(t, "POST", "http://"+s.HTTP+"/live/good.flv")
			f := feedTo(t, good, pace{})
			s.awaitLive(t, "live/good")
			viewers := []*viewer{s.view(t, "flv", "good", ""), s.view(t, "rtmp", "good", "")}
			stop := make(chan struct{})
			var sent atomic.Int64
			var publishing sync.WaitGroup
			defer publishing.Wait()
			defer close(stop)
			for i := range way.crowd {
				publishing.Go(func() {
					p, err := way.open(t, s, fmt.Sprintf("f%d", i))
					if err != nil {
						return // it is refused
					}
					defer p.close()
					over := make(chan struct{})
					defer close(over)
					go func() { // what waits for the server ends, too
						select {
						case <-stop:
							p.close()
						case <-over:
						}
					}()
					for n := 0; p.send(n) == nil; n++ {
						sent.Add(1)
						select {
						case <-stop:
							return
						default:
						}
					}
				})
			}
			end, look := time.NewTimer(5*time.Second), time.NewTicker(50*time.Millisecond)
			defer end.Stop()
			defer look.Stop()
			for running := true; running; {
				select {
				case <-end.C:
					running = false
				case <-look.C:
				}
				if s.ended() {
					t.Fatalf("the server has ended: %v, when %d frames were sent", s.err, sent.Load())
				}
			}
			t.Logf("%d frames were sent, %d streams are left", sent.Load(), len(s.streams(t)))
			if way.refused && !strings.Contains(s.stderr.String(), "the streams take more memory than they may") {
				t.Error("the log does not say why publishers end")
			}
			published := f.finish(t)
			for _, v := range viewers {
				v.awaitLast(t, published[len(published)-1])
			}
		})
	}
}

// A flood is a publisher of large frames.
type flood struct {
	send  func(n int) error // frame n
	close func()
}

// floodSize is the size of a frame, in bytes.
const floodSize = 4_000_000

func floodTag(n int) tag {
	b := make([]byte, 5+floodSize)
	copy(b, "\x12\x01\x00\x00\x00")
	return tag{Type: tagVideo, Time: uint32(n * 40), Data: b}
}

func floodFLV(_ testing.TB, s *server, name string) (flood, error) {
	conn, err := dialErr(s.HTTP, false)
	if err != nil {
		return flood{}, err
	}
	_, err = fmt.Fprintf(conn, "POST /live/%s.flv HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000000\r\n\r\n%s", name, flvHeader)
	return flood{func(n int) error {
		_, err := conn.Write(floodTag(n).append(nil))
		return err
	}, func() { conn.Close() }}, err
}

func floodRTMP(_ testing.TB, s *server, name string) (flood, error) {
	conn, err := dialErr(s.RTMP, false)
	if err != nil {
		return flood{}, err
	}
	c, err := publishRTMP(conn, "live", name)
	if err != nil {
		conn.Close()
		return flood{}, err
	}
	return flood{func(n int) error { return c.send(floodTag(n)) }, func() { conn.Close() }}, nil
}

// floodRTSP sends packets of 60 KB, each frame in several.
func floodRTSP(t testing.TB, s *server, name string, udp bool) (flood, error) {
	conn, err := dialErr(s.RTSP, false)
	if err != nil {
		return flood{}, err
	}
	x := openRTSPOn(conn, "rtsp://"+s.RTSP+"/live/"+name)
	text := "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=realtest\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n" +
		"a=fmtp:96 packetization-mode=1;sprop-parameter-sets=Z0LAH4yNQFAekA8IhGo=,aM48gA==\r\na=control:streamid=0\r\n"
	_, _, err = x.do("ANNOUNCE", x.url, text)
	if err == nil {
		err = x.setup(t, x.url+"/streamid=0", 0, udp, ";mode=record")
	}
	if err == nil {
		_, _, err = x.do("RECORD", x.url, "")
	}
	if err != nil {
		conn.Close()
		return flood{}, err
	}
	go io.Copy(io.Discard, x.r)
	number := uint16(0)
	write := conn.Write
	if udp {
		write = func(p []byte) (int, error) { return x.udp[0][0].WriteToUDP(p[4:], x.peers[0][0]) }
	}
	return flood{func(n int) error {
		nal := make([]byte, floodSize/4)
		nal[0] = 0x65
		list := (&codecs.H264Payloader{}).Payload(60000, nal)
		for i, payload := range list {
			number++
			p, err := (&rtp.Packet{Header: rtp.Header{Version: 2, PayloadType: 96, SSRC: 7, SequenceNumber: number, Timestamp: uint32(n) * 3600, Marker: i == len(list)-1}, Payload: payload}).Marshal()
			if err != nil {
				return err
			}
			if _, err := write(append([]byte{'$', 0, byte(len(p) >> 8), byte(len(p))}, p...)); err != nil {
				return err
			}
		}
		return nil
	}, func() { conn.Close() }}, nil
}

func floodWHIPOverUDP(t testing.TB, s *server, name string) (flood, error) {
	p, err := floodWHIP(t, fmt.Sprintf("http://%s/live/%s/whip", s.HTTP, name), pion.NetworkTypeUDP4)
	if err != nil {
		return flood{}, err
	}
	stop, none := make(chan struct{}), new(atomic.Int64)
	return flood{func(int) error {
		p.run(stop, none)
		return net.ErrClosed
	}, sync.OnceFunc(func() {
		close(stop)
		p.pc.Close()
	})}, nil
}
